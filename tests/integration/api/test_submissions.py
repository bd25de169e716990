"""Whatever bytes are sent as a plan: is the answer a campaign or a refusal that says why, and never a failure?"""

import json
from typing import Any

import httpx
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from api.plans import as_text, merged
from rackproof.planfile import parse_plan
from tests.integration.api.seeds import PLAN, Seeds

TYPES = st.sampled_from(["application/yaml", "application/json", "text/yaml; charset=utf-8"])

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4), max_leaves=12
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A good plan with some bytes replaced."""
    content = bytearray(PLAN.encode())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(content) - 1))
        content[at : at + draw(st.integers(0, 3))] = draw(
            st.binary(max_size=4) | st.sampled_from([b"&a [*a]", b"!!python/x", b"? ", b"\0"])
        )
    return bytes(content)


def plausible() -> st.SearchStrategy[bytes]:
    """JSON with the keys of a plan and anything in them."""
    keys = ["kind", "name", "devices", "disciplines", "load", "trial", "queues", "traffic", "expect", "seed", "repetitions", "testbed"]
    values = st.dictionaries(st.sampled_from(keys), ANYTHING, max_size=8)
    return values.map(lambda plan: json.dumps({"kind": "switch-qos", **plan}).encode())


@given(content=st.binary(max_size=200) | damaged() | plausible(), media_type=TYPES)
@example(content=b"", media_type="application/yaml")
@example(content=b"\xff\xfe", media_type="application/json")
@example(content=b'{"kind": "switch-qos", "name": "\\ud800"}', media_type="application/json")
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_bytes_are_answered(engineer: httpx.Client, seeds: Seeds, content: bytes, media_type: str) -> None:
    headers = {"Content-Type": media_type}
    submitted = engineer.post("/campaigns", content=content, headers=headers)
    assert submitted.status_code in (201, 404, 422), submitted.text
    checked = engineer.post("/plans/check", content=content, headers=headers)
    assert checked.status_code == 200, checked.text
    assert checked.json()["valid"] == (submitted.status_code != 422)
    if submitted.status_code == 422:
        assert submitted.json()["problems"] == checked.json()["problems"]
        assert all(fault["expected"] and fault["found"] for fault in checked.json()["problems"])


#: What plans hold: JSON and YAML both carry it.
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=4),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.text("abc", min_size=1, max_size=3), JSON, min_size=1, max_size=4)


@given(plan=OBJECTS)
def test_a_plan_that_was_merged_reads_as_it_was_written(plan: dict[str, Any]) -> None:
    assert parse_plan(as_text(plan), "test").data == plan


@given(plan=OBJECTS, changes=OBJECTS)
def test_a_merge_patch_does_what_the_rfc_says(plan: dict[str, Any], changes: dict[str, Any]) -> None:
    once = merged(plan, changes)
    assert merged(once, changes) == once
    assert merged(plan, {}) == plan
    for key in {*plan, *changes}:
        if key not in changes:
            assert once[key] == plan[key]
        elif changes[key] is None:
            assert key not in once
        elif not isinstance(changes[key], dict):
            assert once[key] == changes[key]


def test_the_examples_of_rfc_7396() -> None:
    for target, patch, result in (
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ):
        assert merged(target, patch) == result
