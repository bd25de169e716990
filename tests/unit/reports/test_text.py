"""Numbers and strings as a report prints them."""

import math

import pytest

from rackproof.model.measurement import Interval
from reports import text


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (53.2345, 53.1345, 53.3345, "53.23 ± 0.10"),
        (53.2345, 52.8345, 53.6345, "53.2 ± 0.4"),
        (1234.5, 1214.5, 1254.5, "1\u202f234 ± 20"),
        (0.0004, 0.0, 0.004, "0.000 (0.000 to 0.004)"),
        (5.0, 5.0, 5.0, "5 ± 0"),
        (-0.5, -0.7, -0.3, "−0.5 ± 0.2"),
        (math.inf, 0.0, 1.0, "∞"),
        (math.nan, 0.0, 1.0, "–"),
        (2.0, -math.inf, 3.0, "2"),
    ],
)
def test_value_and_interval_have_the_digits_that_the_interval_warrants(value: float, low: float, high: float, shown: str) -> None:
    assert text.with_interval(value, Interval(low=low, high=high, method="t")) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (12304.0, "12\u202f304"),
        (9.99999, "10"),
        (0.00012345, "0.0001234"),
        (1e-15, "1.000e−15"),
        (-3.25, "−3.25"),
        (1e9, "1\u202f000\u202f000\u202f000"),
    ],
)
def test_numbers_in_plain_notation(value: float, shown: str) -> None:
    assert text.number(value) == shown


def test_invisible_characters_are_shown_and_not_obeyed() -> None:
    assert text.clean("a\x00b\x1b[31m\u202edeb\ud800\r\nc\td") == "a\\x00b\\x1b[31m\\u202edeb\\ud800\nc\td"


def test_long_words_get_places_to_break_and_nothing_else() -> None:
    word = "switch/rack-12/" + "0123456789" * 6
    broken = text.breakable(f"the {word} here")
    assert broken.replace(text.BREAK, "") == f"the {word} here"
    assert max(len(piece) for piece in broken.split(text.BREAK)) < 25
    assert text.breakable("5a" * 32) == "5a" * 32
    assert text.breakable("short words stay as they are") == "short words stay as they are"


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.25, "250 ms"), (12.34, "12.3 s"), (245.0, "4 min 05 s"), (7380.0, "2 h 03 min"), (math.inf, "–")]
)
def test_durations(seconds: float, shown: str) -> None:
    assert text.duration(seconds) == shown
