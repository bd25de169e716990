"""Does a change in the form change one thing of the text, and leave comments, order and style as somebody wrote them?"""

import difflib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackproof.planfile import PlanFile, parse_plan
from testplans.switch_qos.kind import SwitchQos
from web import plan_text
from web.drafts import after, draft
from web.edits import Edit
from web.plan_text import block, cut, move, put

DEMO = (SwitchQos.folder / "demo.yaml").read_text()
ALL = [(SwitchQos.folder / f"{name}.yaml").read_text() for name in ("demo", "paper", "bench_nightly")]


def plan(text: str) -> PlanFile:
    return parse_plan(text.encode(), "plan")


def data(text: str) -> Any:
    return plan(text).data


def changed_lines(before: str, now: str) -> list[str]:
    """Lines that were removed and added."""
    return [line for line in difflib.ndiff(before.splitlines(), now.splitlines()) if line[:2] in ("- ", "+ ")]


@pytest.mark.parametrize(
    ("path", "value", "lines"),
    [
        (("trial", "duration_s"), 3, ["-   duration_s: 1.0", "+   duration_s: 3"]),
        (("trial", "drain_s"), 0.5, ["+   drain_s: 0.5"]),
        (("repetitions",), 4, ["+ repetitions: 4"]),
        (("devices", 2, "options", "leak"), 0.1, ["-     options: {leak: 0.05, unfair: 0.5}", "+     options: {leak: 0.1, unfair: 0.5}"]),
        (
            ("devices", 2, "options", "waste"),
            1,
            ["-     options: {leak: 0.05, unfair: 0.5}", "+     options: {leak: 0.05, unfair: 0.5, waste: 1}"],
        ),
        (("devices", 3), {}, ["+   - {}"]),
        (("criteria", "sp_leak_share_max"), None, ["+   sp_leak_share_max: null"]),
        (("validity", "clock_step_us_max"), 10, ["+   clock_step_us_max: 10"]),
        (("name",), "a: b # c", ["- name: Strict priority and weighted round robin at 100 Mbit/s", '+ name: "a: b # c"']),
    ],
)
def test_one_thing_is_changed_and_nothing_else(path: tuple[str | int, ...], value: Any, lines: list[str]) -> None:
    now = put(plan(DEMO), path, value)
    assert changed_lines(DEMO, now) == lines
    found = data(now)
    for step in path:
        found = found[step]
    assert found == value


def test_what_is_around_is_made_where_it_is_missing() -> None:
    now = put(plan("kind: x\n# why\nname: y # who\n"), ("a", "b", "c"), [1, 2])
    assert now == "kind: x\n# why\nname: y # who\na:\n  b: {c: [1, 2]}\n" or data(now)["a"] == {"b": {"c": [1, 2]}}
    assert "# why\nname: y # who" in now


def test_a_line_is_cut_and_an_empty_part_with_it() -> None:
    assert changed_lines(DEMO, cut(plan(DEMO), ("trial", "warmup_s"))) == ["-   warmup_s: 0.25"]
    assert "validity" not in cut(plan(DEMO), ("validity", "stalled_share_max"))
    assert data(cut(plan(DEMO), ("expect", 0)))["expect"] == []
    assert cut(plan(DEMO), ("no", "such", 3)) == DEMO


def test_items_change_places_with_their_comments_kept() -> None:
    text = "kind: x\nitems:\n  # the first\n  - name: a\n    size: 1  # small\n  - b\n"
    now = move(plan(text), ("items", 0), 1)
    assert data(now)["items"] == ["b", {"name": "a", "size": 1}]
    assert "# the first" in now
    assert "# small" in now
    assert move(plan(text), ("items", 0), -1) == text


def test_the_first_key_of_an_item_goes_and_the_next_takes_its_place() -> None:
    text = "items:\n  - name: a\n    size: 1  # small\n"
    assert cut(plan(text), ("items", 0, "name")) == "items:\n  - size: 1  # small\n"


@pytest.mark.parametrize("text", ["a: &x {b: 1}\nc: *x\n", "a:\n  - &y 1\n  - *y\n"])
def test_an_anchor_is_not_changed_through_its_uses(text: str) -> None:
    before = data(text)
    now = put(plan(text), ("a", 0) if isinstance(before["a"], list) else ("a", "b"), 2)
    wanted = {**before, "a": [2, 1] if isinstance(before["a"], list) else {"b": 2}}
    assert data(now) == wanted


json = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=10), json, max_size=5))
def test_a_block_says_what_it_was_made_from(value: dict[str, Any]) -> None:
    if value:
        assert plan_text.means(block(value), value)


@given(st.sampled_from(ALL), st.data(), json)
def test_whatever_is_put_anywhere_the_text_says_it_and_nothing_else_changes(text: str, draw: st.DataObject, value: Any) -> None:
    file = plan(text)
    path = draw.draw(st.sampled_from(sorted(file.lines, key=str)))
    now = data(put(file, path, value))
    around: Any
    before: Any
    around, before = now, file.data
    for step in path[:-1]:
        around, before = around[step], before[step]
    assert repr(around[path[-1]]) == repr(value)
    around[path[-1]] = before[path[-1]]
    assert repr(now) == repr(file.data)


@given(st.sampled_from(ALL), st.data())
def test_whatever_is_cut_anywhere_the_rest_stays(text: str, draw: st.DataObject) -> None:
    file = plan(text)
    path = draw.draw(st.sampled_from(sorted(file.lines, key=str)))
    now = cut(file, path)
    at = data(now)
    kept = [row for row in text.splitlines() if row.startswith("#")]
    assert [row for row in now.splitlines() if row.startswith("#")] == kept
    for step in path[:-1]:
        at = at.get(step) if isinstance(at, dict) else at[step]
        if at is None:
            return
    before: Any = file.data
    for step in path[:-1]:
        before = before[step]
    assert len(at) == len(before) - 1


def edit(text: str, *edits: Edit) -> str:
    return after(draft(text), edits, ["bench"])[0].text


def test_the_form_edits_a_plan_as_people_do() -> None:
    assert data(edit(DEMO, Edit(op="set", path="/load/per_sender_mbps", value="5, 7.5, 1e2")))["load"] == {
        "per_sender_mbps": [5, 7.5, 100.0]
    }
    # `linux-htb` is short for a name and a model: with options it must be both.
    device = data(edit(DEMO, Edit(op="set", path="/devices/0/options", value="leak: 0.1")))["devices"][0]
    assert device == {"name": "linux-htb", "model": "linux-htb", "options": {"leak": 0.1}}
    assert edit(DEMO, Edit(op="set", path="/trial/duration_s", value="")).count("duration_s") == 0
    assert data(edit(DEMO, Edit(op="null", path="/criteria/waste_share_max")))["criteria"]["waste_share_max"] is None
    assert len(data(edit(DEMO, Edit(op="add", path="/devices")))["devices"]) == 4
    assert data(edit(DEMO, Edit(op="up", path="/devices/1")))["devices"][:2] == ["reference", "linux-htb"]
    assert data(edit(DEMO, Edit(op="set", path="/queues/count", value="8")))["queues"]["count"] == 8
    assert edit(DEMO, Edit(op="set", path="/no/such", value="1")) == DEMO


def test_nonsense_in_a_field_is_kept_and_refused_there() -> None:
    found, _ = after(draft(DEMO), [Edit(op="set", path="/trial/duration_s", value="soon")], [])
    assert [(problem.where, problem.found) for problem in found.problems] == [("trial.duration_s", "'soon'")]
    assert found.problems[0].line == next(at for at, row in enumerate(found.text.splitlines(), 1) if "duration_s" in row)
    found, _ = after(found, [Edit(op="set", path="/trial/duration_s", value="2")], [])
    assert found.problems == ()
