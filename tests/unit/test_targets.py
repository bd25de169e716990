"""Does --testbed change where a plan runs, and nothing else of it?"""

from pathlib import Path

import pytest

from rackproof.cli.targets import plan_for
from testplans.submission import of_file

PLAN = """\
# For tonight.
kind: switch-qos
name: One switch
testbed: bench
devices: [switch-1]  # the new one
disciplines: [strict-priority]
load: {per_sender_mbps: [4]}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plan.yaml"


def test_all_else_stays_as_it_was_written(path: Path) -> None:
    path.write_text(PLAN)
    assert plan_for(path, "lab1").text == PLAN.replace("testbed: bench", "testbed: lab1")
    assert plan_for(path, None).text == PLAN


def test_a_plan_that_names_none_is_given_one(path: Path) -> None:
    path.write_text(PLAN.replace("testbed: bench\n", ""))
    moved = plan_for(path, "lab1")
    assert of_file(moved).plan.testbed == "lab1"
    assert "# the new one" in moved.text


def test_a_plan_in_json_is_moved_too(path: Path) -> None:
    path.write_text(
        '{"kind": "switch-qos", "name": "x", "devices": ["a"], "disciplines": ["strict-priority"], "load": {"per_sender_mbps": [4]}}'
    )
    assert of_file(plan_for(path, "lab1")).plan.testbed == "lab1"


def test_a_test_of_pantheon_is_moved_as_our_plan(path: Path) -> None:
    path.write_text("test-name: x\nflows:\n  - scheme: cubic\n  - scheme: bbr\nuplink_trace: cellular-40.trace\n")
    moved = of_file(plan_for(path, "lab1"))
    assert (moved.plan.kind, moved.plan.testbed) == ("congestion-control", "lab1")
