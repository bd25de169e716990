"""What a killed signaller leaves is found by whoever has its port next, and torn down while it may be there."""

import os
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from orchestrator.signalling import left
from orchestrator.signalling.left import Keeper, Left
from orchestrator.signalling.pair import Pair
from tests.unit.signalling.standin import SIGNALLING, Engine

LEFT = Left(owner="process 12 of user lab", signalling=SIGNALLING, standing=((0, 1), (1, 9)), at_s=0.0)
PORTS = {"in": None, "out": None}
NOW_S = 1_790_000_000.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ages are those of a clock that stands still."""
    monkeypatch.setattr(left, "time", SimpleNamespace(time=lambda: NOW_S))


def test_a_file_says_all_that_is_needed_to_tear_down(tmp_path: Path) -> None:
    path = tmp_path / "port.lsps"
    LEFT.write(path)
    os.utime(path, (NOW_S, NOW_S))
    found = Left.read(path)
    assert found is not None
    assert found.at_s == NOW_S
    assert replace(found, at_s=0.0) == LEFT
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_says_nothing_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "port.lsps"
    assert Left.read(path) is None
    path.write_text('{"owner": "somebody"')
    assert Left.read(path) is None
    LEFT.write(tmp_path / "other")
    path.unlink()
    path.symlink_to(tmp_path / "other")
    assert Left.read(path) is None


@pytest.mark.usefixtures("clock")
def test_what_is_left_is_torn_down_and_told(engine: type[Engine]) -> None:
    now = replace(LEFT, at_s=NOW_S - 3.25)
    begun = "in: process 12 of user lab ended 3 s ago and left 2 LSPs to 10.83.254.2 in the devices"
    assert now.cleared("in", PORTS) == f"{begun}; 2 tears were sent, and the egress saw 2"
    engine.hears = False
    end = "what is left ends with its lifetime in at most 154 s"
    assert now.cleared("in", PORTS) == f"{begun}; 2 tears were sent, and the egress saw 0; {end}"


@pytest.mark.usefixtures("clock")
def test_where_nothing_was_noted_that_is_told() -> None:
    said = replace(LEFT, standing=(), at_s=NOW_S - 0.25).cleared("in", PORTS)
    assert said.endswith(
        "left 0 LSPs to 10.83.254.2 in the devices, as far as it had noted them; what is left ends with its lifetime in at most 157 s"
    )


@pytest.mark.usefixtures("clock")
def test_what_is_beyond_its_lifetime_or_reach_is_told_and_left(engine: type[Engine]) -> None:
    engine.answers = False
    old = replace(LEFT, at_s=NOW_S - 200)
    assert old.cleared("in", PORTS).endswith("; their lifetime of 157.5 s is over, so nothing was done")
    said = replace(LEFT, at_s=NOW_S).cleared("in", {"in": None})
    assert "; they were not torn down, for the egress port out is not among those taken; what is left ends" in said


def test_what_stands_is_kept_as_it_changes_and_forgotten_when_all_is_torn_down(tmp_path: Path, engine: type[Engine]) -> None:
    path = tmp_path / "port.lsps"
    lers = Pair(SIGNALLING, None)
    keeper = Keeper(path, "process 12 of user lab", lers)
    lers.begin()
    found = _until(path, 5)
    assert found.owner == "process 12 of user lab"
    os.utime(path, (1.0, 1.0))
    assert _until(path, 5, since_s=2.0).standing == found.standing
    engine.hears = False
    lers.close()
    keeper.close()
    assert _until(path, 5).standing == found.standing

    engine.hears = True
    lers = Pair(SIGNALLING, None)
    keeper = Keeper(path, "process 12 of user lab", lers)
    lers.begin()
    lers.close()
    keeper.close()
    assert not path.exists()


def _until(path: Path, standing: int, since_s: float = 0.0) -> Left:
    """What the file says once so many LSPs stand in it, and it is from after a time."""
    deadline = time.monotonic() + 30.0
    while (found := Left.read(path)) is None or len(found.standing) != standing or found.at_s < since_s:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found
