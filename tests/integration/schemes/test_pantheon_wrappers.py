"""The adapter for a Pantheon checkout, on wrappers of our own that keep its protocol, in both layouts."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from rackproof.errors import LabError
from rackproof.ports import Rig
from testplans.congestion_control.schemes.model import Scheme
from testplans.congestion_control.schemes.pantheon_wrapper import SETTLE_S, Wrapper
from testplans.congestion_control.schemes.probe import local_call, probe
from testplans.congestion_control.schemes.runner import Flow
from testplans.congestion_control.schemes.tools import Tools
from tests.integration.schemes.rigs import PORT
from tests.waiting import until

WRAPPER = Path(__file__).parent / "wrapper.py"


def scheme(wrapper: str) -> Scheme:
    return Scheme.model_validate({"id": "made", "label": "Made", "family": "udp", "wrapper": wrapper})


def checkout(folder: Path, place: str) -> Tools:
    path = folder / place
    path.parent.mkdir(parents=True)
    shutil.copy(WRAPPER, path)
    return Tools(pantheon=folder, pantheon_python=sys.executable)


@pytest.mark.netns
@pytest.mark.parametrize("place", ["src/wrappers/receiver_first.py", "src/sender_first.py"])
def test_both_sides_run_in_the_order_that_the_wrapper_wants(rig: Rig, tmp_path: Path, place: str) -> None:
    tools = checkout(tmp_path, place)
    with Flow(scheme(Path(place).stem), rig.host("sender-1"), rig.host("receiver-1"), port=PORT, runtime_s=1.0, tools=tools) as flow:
        flow.start()
        receiver = flow._programs["receiver"]
        until((tmp_path / f"{place}.received").exists)
        flow.check()
        end = flow.finish()
    assert receiver.poll() == end.receiver
    assert end.sender.output == "sending to 10.82.1.2\n"
    assert end.receiver.output == "received 10\n"
    first, second = ("receiver", "sender") if "receiver" in place else ("sender", "receiver")
    begun = {side: int((tmp_path / f"{place}.{side}").read_text()) / os.sysconf("SC_CLK_TCK") for side in (first, second)}
    assert begun[second] - begun[first] >= SETTLE_S - 0.1


@pytest.mark.netns
def test_a_wrapper_that_says_neither_side_is_told(rig: Rig, tmp_path: Path) -> None:
    tools = checkout(tmp_path, "src/wrappers/nobody_first.py")
    with (
        pytest.raises(LabError, match=r"nobody_first.py run_first: expected receiver or sender, found exit status 0 and 'nobody'"),
        Flow(scheme("nobody_first"), rig.host("sender-1"), rig.host("receiver-1"), port=PORT, runtime_s=1.0, tools=tools) as flow,
    ):
        flow.start()


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="set RACKPROOF_PANTHEON_DIR"):
        Wrapper.find(Tools(), "sprout")
    with pytest.raises(LabError, match=r"expected a Pantheon checkout with src/wrappers/sprout.py or src/sprout.py"):
        Wrapper.find(Tools(pantheon=tmp_path), "sprout")
    tools = checkout(tmp_path, "src/sprout.py")
    assert Wrapper.find(tools, "sprout").path == tmp_path / "src/sprout.py"
    (found,) = probe([scheme("sprout")], local_call, Tools(pantheon=tmp_path, pantheon_python="python2.7x"))
    assert found.missing == ("the program python2.7x: set RACKPROOF_PANTHEON_PYTHON to the interpreter of the wrappers",)
    (found,) = probe([scheme("sprout")], local_call, tools)
    assert found.available
