"""Does a kind get its form from its schema alone, and does every field write what it shows?"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from api.units import with_units
from testplans.switch_qos.plan import SwitchQosPlan
from tests.unit.switch_qos.plans import shipped
from web import flow
from web.forms import Field as FormField
from web.forms import form, pointer
from web.shapes import Widget
from web.shorthand import written_out


def fields_of(model: type[BaseModel], data: Mapping[str, Any]) -> dict[str, FormField]:
    """Every field by its place; of a union, the chosen one last."""
    made = form(with_units(model.model_json_schema()), data)
    return {inner.where: inner for field in made for inner in field.walk()}


def test_switch_qos_gets_a_field_for_everything_that_its_plan_may_say() -> None:
    data = shipped("demo")
    found = fields_of(SwitchQosPlan, written_out(SwitchQosPlan, data))
    load = found["load.per_sender_mbps"]
    assert (load.widget, load.value, load.unit, load.required) == (Widget.LIST, "10, 15, 22, 40, 60", "Mbit/s", True)
    assert load.help == "Ascending; all senders send at the same load."
    assert load.bounds == "each more than 0, at most 200 of them"
    assert found["devices[0].name"].value == "linux-htb"
    assert found["devices[2].options"].value == "leak: 0.05, unfair: 0.5"
    assert found["link.layer"].options == ("L1", "L2")
    assert found["queues.count"].options == ("4", "8")
    assert (found["repetitions"].present, found["repetitions"].default) == (False, "1")
    assert found["criteria.delay_p99_top_us_max"].unit == "µs"
    assert found["trial.duration_s"].bounds == "more than 0, at most 3600"
    assert found["seed"].bounds == "0 to 2147483647"
    assert not [field for field in found.values() if field.raw or field.widget is Widget.RAW]


@pytest.mark.parametrize("name", ["demo", "paper", "bench_nightly"])
def test_every_key_of_a_shipped_plan_is_shown(name: str) -> None:
    data = written_out(SwitchQosPlan, shipped(name))
    found = fields_of(SwitchQosPlan, data)

    def places(value: Any, path: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if isinstance(value, Mapping) and path not in inputs:
            return [place for key, inner in value.items() for place in places(inner, (*path, key))]
        if isinstance(value, list) and path not in inputs:
            return [place for at, inner in enumerate(value) for place in places(inner, (*path, at))]
        return [path]

    inputs = {field.path for field in found.values() if not field.children}
    missing = [place for place in places(data, ()) if place not in {field.path for field in found.values()}]
    assert missing == []


def test_a_short_form_is_written_out_by_the_kinds_own_model() -> None:
    data = {**shipped("demo"), "traffic": {"senders": 8, "frame_mix": "imix"}}
    whole = written_out(SwitchQosPlan, data)
    assert whole["devices"][0] == {"name": "linux-htb", "model": "linux-htb"}
    assert whole["disciplines"][0] == {"discipline": "strict-priority"}
    assert [part["frame_bytes"] for part in whole["traffic"]["frame_mix"]] == [64, 594, 1518]
    assert whole["traffic"]["senders"] == 8
    assert data["traffic"] == {"senders": 8, "frame_mix": "imix"}


class Probe(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["probe"]
    interval_ms: int = Field(ge=1, description="Between two probes.")


class Burst(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["burst"]
    frames: int = Field(gt=0)
    then: "Burst | None" = None


class Hop(BaseModel):
    label: int | None = None
    colours: tuple[Literal["red", "green"], ...] = ()


class Strange(BaseModel):
    """Shapes that switch-qos has none of."""

    flag: bool
    maybe: bool = True
    method: Annotated[Probe | Burst, Field(discriminator="kind")]
    window: int | list[int] = 3
    paths: dict[str, list[Hop]] = {}
    hops: dict[str, Hop] = {}
    pair: tuple[int, str] = (1, "a")
    anything: Any = None
    spare: Hop | None = None
    ratio: Literal[2, 1, "auto"] = "auto"
    note_text: str = Field(default="", max_length=4000)
    odd_key: float | str = Field(default=math.inf, alias="odd/~key")


STRANGE: dict[str, Any] = {
    "flag": False,
    "method": {"kind": "burst", "frames": 3, "then": {"kind": "burst", "frames": 1}},
    "window": [1, 2],
    "paths": {"north": [{"label": 1}, {}]},
    "hops": {"a.b": {"colours": ["red"]}},
    "pair": [2, "b, c"],
    "anything": {"deep": [1, {"x": None}]},
    "ratio": 2,
    "note_text": "two\nlines\n",
    "odd/~key": 1.5,
}


def test_a_kind_with_other_shapes_gets_its_form_too() -> None:
    found = fields_of(Strange, STRANGE)
    assert (found["flag"].widget, found["flag"].value, found["flag"].required) == (Widget.SWITCH, "false", True)
    assert (found["maybe"].value, found["maybe"].default) == ("", "true")
    method = next(field for field in form(Strange.model_json_schema(), STRANGE) if field.key == "method")
    assert (method.widget, method.variants, method.chosen) == (Widget.VARIANTS, ("probe", "burst"), 1)
    assert found["method.frames"].value == "3"
    assert found["method.then.frames"].value == "1"
    assert found["method.then.then"].children == ()
    assert found["window"].widget is Widget.LIST
    assert found["window"].value == "1, 2"
    assert found["paths.north"].widget is Widget.ITEMS
    assert found["paths.north[0].label"].value == "1"
    assert found["hops.a.b.colours"].value == "red"
    assert found["hops.a.b.colours"].pointer == "/hops/a.b/colours"
    assert found["pair"].value == '2, "b, c"'
    assert found["anything"].widget is Widget.RAW
    assert flow.meaning(found["anything"].value) == STRANGE["anything"]
    assert (found["spare"].nullable, found["spare"].children) == (True, ())
    assert found["ratio"].options == ("2", "1", "auto")
    assert found["note_text"].widget is Widget.LONG_TEXT
    assert found["odd/~key"].pointer == "/odd~1~0key"
    assert found["odd/~key"].widget is Widget.ANY


def test_what_does_not_fit_is_shown_as_yaml_and_nothing_is_lost() -> None:
    data = {**STRANGE, "method": [1], "hops": 5, "flag": {"a": 1}, "note_text": ["x"]}
    found = fields_of(Strange, data)
    for key in ("hops", "flag", "note_text"):
        assert found[key].raw
        assert flow.meaning(found[key].value) == data[key]
    assert flow.meaning(found["method"].value) == [1]


def test_suggestions_are_no_rule() -> None:
    schema = SwitchQosPlan.model_json_schema()
    fields = {field.key: field for field in form(schema, {"testbed": "elsewhere"}, {("testbed",): ["bench", "lab-2"]})}
    assert fields["testbed"].widget is Widget.CHOICE
    assert fields["testbed"].options == ("bench", "lab-2", "elsewhere")


scalars = st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8"))
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4), max_leaves=12
)


@settings(max_examples=40)
@given(values)
def test_a_line_means_what_it_was_written_from(value: Any) -> None:
    assert repr(flow.meaning(flow.flow(value))) == repr(value)


@settings(max_examples=40)
@given(st.lists(scalars, max_size=6))
def test_a_list_is_read_as_it_is_shown(value: list[Any]) -> None:
    assert repr(flow.items(flow.flow_items(value))) == repr(value)


@settings(max_examples=40)
@given(st.dictionaries(st.integers(-9, 9) | st.text(min_size=1, max_size=6), scalars, max_size=5))
def test_pairs_are_read_as_they_are_shown(value: dict[Any, Any]) -> None:
    assert repr(flow.pairs(flow.flow_pairs(value))) == repr(value)


@settings(max_examples=15)
@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_any_data_can_be_shown_in_any_form(value: Any) -> None:
    for model in (Strange, SwitchQosPlan):
        data = dict.fromkeys([field.alias or name for name, field in model.model_fields.items()], value)
        for where, field in fields_of(model, data).items():
            assert where == field.where
            assert field.pointer == pointer(field.path)


def test_a_recursive_schema_ends() -> None:
    schema = TypeAdapter(Burst).json_schema()
    burst: dict[str, Any] = {"kind": "burst", "frames": 1}
    for _ in range(30):
        burst = {"kind": "burst", "frames": 1, "then": burst}
    inner = schema["$defs"]["Burst"]
    fields = form({**inner, "$defs": schema["$defs"]}, burst)
    deepest = max((field for top in fields for field in top.walk()), key=lambda field: len(field.path))
    assert deepest.raw
