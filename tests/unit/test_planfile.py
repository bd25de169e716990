"""Is a plan file read as what it says, and refused at the line that is wrong?"""

import hashlib
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, field_validator

from rackproof.errors import PlanError, Problem
from rackproof.planfile import DEPTH_MAX, FILE_BYTES_MAX, VALUES_MAX, PlanFile, parse_plan, read_plan, validate


class Constant(BaseModel):
    model_config = ConfigDict(extra="forbid")
    arrivals: Literal["constant"]
    phase_us: float = 0


class Poisson(BaseModel):
    model_config = ConfigDict(extra="forbid")
    arrivals: Literal["poisson"]
    mean_us: float


class Load(BaseModel):
    model_config = ConfigDict(extra="forbid")
    rate_mbps: float = Field(gt=0)
    duration_s: float = 1.0
    per_sender_mbps: list[float] = []
    arrivals: Constant | Poisson | None = None


class APlan(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    load: Load
    loads: list[Load] = []
    weights: list[float] = []
    sizes: dict[int, int] = {}

    @field_validator("weights")
    @classmethod
    def _sum(cls, weights: list[float]) -> list[float]:
        if weights and abs(sum(weights) - 1) > 1e-9:
            raise ValueError(f"expected weights that sum to 1, found a sum of {sum(weights):g}")
        return weights


def parse(text: str) -> PlanFile:
    return parse_plan(text.encode(), "a.yaml")


def problems(text: str) -> list[Problem]:
    with pytest.raises(PlanError) as caught:
        validate(APlan, parse(text))
    return caught.value.problems


def problem(text: str) -> Problem:
    (only,) = problems(text)
    return only


def test_a_plan_is_read_with_its_hash_and_lines(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    content = "# a comment\nname: Ünïcode\nload:\n  rate_mbps: 10\n  per_sender_mbps: [1,\n    2.5]\nsizes: {0: 64, 7: 1518}\n"
    path.write_text(content)
    file = read_plan(path)
    assert file.source == str(path)
    assert file.text == content
    assert file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert file.data == {"name": "Ünïcode", "load": {"rate_mbps": 10, "per_sender_mbps": [1, 2.5]}, "sizes": {0: 64, 7: 1518}}
    assert file.line_of(("load",)) == 3
    assert file.line_of(("load", "per_sender_mbps", 1)) == 6
    assert file.line_of(("load", "nothing of the kind")) == 3
    assert file.line_of(("sizes", "7")) == 7
    assert file.line_of(()) is None
    plan = validate(APlan, file)
    assert plan.load.per_sender_mbps == [1, 2.5]


def test_the_hash_is_of_the_bytes_and_a_byte_order_mark_is_no_text() -> None:
    content = b"\xef\xbb\xbfname: x\r\n"
    file = parse_plan(content, "a.yaml")
    assert (file.data, file.sha256) == ({"name": "x"}, hashlib.sha256(content).hexdigest())


def test_words_of_older_yaml_stay_words() -> None:
    assert parse("a: [yes, no, on, 2020-01-01, 1:30]").data == {"a": ["yes", "no", "on", "2020-01-01", "1:30"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: [\n", "line 3: (the whole plan): expected YAML"),
        ("a: 1\n  b: 2\n", "line 2: (the whole plan): expected YAML"),
        ("a: 1\nb: 2\na: 3\n", "line 3: a: expected each key once, found a again; it stands at line 1 already"),
        ("l:\n  x: 1\n  x: 1\n", "line 3: l.x: expected each key once"),
        ("", "expected keys with values (kind: ..., name: ...), found an empty file"),
        ("- 1\n", "found [1]"),
        ("just words", "found 'just words'"),
        ("a: 1\n---\nb: 1\n", "expected YAML"),
        ("a: !!python/object/apply:os.system [true]", "line 1: a: expected plain data, found the tag"),
        ("a: !!python/name:os.system x", "line 1: a: expected plain data, found the tag"),
        ("a: !!binary aGVsbG8=", "a: expected plain data, found the tag"),
        ("a: !!set {b}", "a: expected plain data, found the tag"),
        ("a: !mine x", "a: expected plain data, found the tag"),
        ("? [1]\n: 2\n", "expected a name or a whole number as key, found a list or mapping"),
        ("true: 2\n", "expected a name or a whole number as key, found true"),
        ("1.5: 2\n", "expected a name or a whole number as key, found 1.5"),
        (f"a: {'9' * 5000}", "a: expected"),
        (f"a: {'9' * 60}", "a: expected a number of at most 38 digits"),
        ("a: \x00", "expected YAML"),
        ("&a [*a]", "levels, found more"),
        ("a: &a {b: *a}", "levels, found more"),
        ("[" * 5000, "expected"),
        ("a: " + "[" * (DEPTH_MAX + 1) + "]" * (DEPTH_MAX + 1), f"expected at most {DEPTH_MAX} levels, found more"),
    ],
)
def test_what_is_not_a_plan_is_refused_with_its_line(text: str, expected: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse(text)
    assert expected in str(caught.value)
    assert str(caught.value).startswith("a.yaml: the plan cannot be used\n")


def test_a_short_file_cannot_stand_for_a_huge_one() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    for level in "bcdefghij":
        previous = chr(ord(level) - 1)
        bomb += f"{level}: &{level} [{', '.join([f'*{previous}'] * 10)}]\n"
    with pytest.raises(PlanError, match=f"at most {VALUES_MAX} values"):
        parse(bomb)


def test_an_anchor_is_fine() -> None:
    file = parse("a: &a {rate_mbps: 1}\nb: *a\n")
    assert file.data == {"a": {"rate_mbps": 1}, "b": {"rate_mbps": 1}}


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.yaml"
    path.write_bytes(b"#" * (FILE_BYTES_MAX + 1))
    with pytest.raises(PlanError, match="at most 256 KiB"):
        read_plan(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"nowhere\.yaml: the plan cannot be used\n  file: .*found No such file"):
        read_plan(tmp_path / "nowhere.yaml")
    with pytest.raises(PlanError, match="found Is a directory"):
        read_plan(tmp_path)


def test_other_encodings_are_refused_at_their_line() -> None:
    with pytest.raises(PlanError, match="line 2: file: expected UTF-8 text, found the byte 0xe9"):
        parse_plan("a: 1\nb: é\n".encode("latin-1"), "a.yaml")


def test_every_problem_is_told_in_the_order_of_the_file() -> None:
    found = problems("load:\n  rate_mbps: -1\n  per_sender_mbps: [1, x]\nweights: [0.5, 0.6]\n")
    assert [(each.line, each.where) for each in found] == [
        (2, "load.rate_mbps"),
        (3, "load.per_sender_mbps[1]"),
        (4, "weights"),
        (None, "name"),
    ]
    assert [(each.expected, each.found) for each in found] == [
        ("greater than 0", "-1"),
        ("number, unable to parse string as a number", "'x'"),
        ("weights that sum to 1", "a sum of 1.1"),
        ("this key", "nothing"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rate_gbps: 1", "rate_mbps (in Mbit/s): 1000"),
        ("rate_kbps: 2500.5", "rate_mbps (in Mbit/s): 2.5005"),
        ("rate-mbps: 1", "rate_mbps (in Mbit/s): 1"),
        ("rate: 1", "rate_mbps (in Mbit/s)"),
        ("duration_min: 2", "duration_s (in s): 120"),
        ("duration_ms: soon", "duration_s (in s)"),
        ("rate_s: 1", "rate_mbps (in Mbit/s)"),
        ("Per Sender Mbps: 1", "per_sender_mbps? Known here: rate_mbps, duration_s, per_sender_mbps, arrivals"),
        ("colour: red", "one of rate_mbps, duration_s, per_sender_mbps, arrivals"),
    ],
)
def test_an_unknown_key_is_refused_with_what_was_meant(text: str, expected: str) -> None:
    found = problem(f"name: x\nload:\n  rate_mbps: 1\n  {text}\n")
    key = text.partition(":")[0]
    assert found == Problem(where=f"load.{key}", line=4, expected=expected, found=f"the unknown key {key}")


def test_hints_reach_into_lists_and_unions() -> None:
    assert problem("name: x\nload: {rate_mbps: 1}\nloads:\n - {rate_mbps: 1}\n - {rate_mbps: 1, duraton_s: 2}\n").expected.startswith(
        "duration_s"
    )
    in_union = problems("name: x\nload:\n  rate_mbps: 1\n  arrivals: {arrivals: poisson, mean_ms: 1}\n")
    assert {each.line for each in in_union} == {4}
    assert "mean_us (in us): 1000" in {each.expected for each in in_union}
    assert all(each.where.startswith("load.arrivals") for each in in_union)


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["name", "load", "rate_mbps", "weights", "x"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.text() | st.text(alphabet="{}[]:,-?&*!|>'\"%@` \n\tab01.<=~#"))
@example("%YAML 1.1\n---\na: 1e3\nb: 0o9\n")
@example("a: 0o9")
@example("a: !!int x")
@example("a: !!float x")
@example("<<: [1]")
@example("? ")
@example("\ud800")
def test_whatever_a_file_says_only_a_plan_error_comes_of_it(text: str) -> None:
    try:
        file = parse_plan(text.encode("utf-8", "surrogatepass"), "a.yaml")
        validate(APlan, file)
    except PlanError as error:
        assert error.problems
        assert all(each.line is None or each.line >= 1 for each in error.problems)


@given(st.binary(max_size=200))
def test_whatever_bytes_a_file_has_only_a_plan_error_comes_of_it(content: bytes) -> None:
    try:
        parse_plan(content, "a.yaml")
    except PlanError as error:
        assert error.problems


@given(json_like)
def test_whatever_a_plan_holds_only_a_plan_error_comes_of_it(data: Any) -> None:
    file = PlanFile(source="a.yaml", text="", sha256="", data=data, lines={})
    try:
        plan = validate(APlan, file)
    except PlanError as error:
        assert error.problems
    else:
        assert plan.load.rate_mbps > 0
