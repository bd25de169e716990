"""The driver and the real client against what a real TRex server 3.08 answered on the day that stands in the recordings (wire.py).

This shows that both still speak as they did then. What a server does is tried by tests/contract/generators with RACKPROOF_TREX.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.generators import trex
from orchestrator.generators.trex.client import Client
from orchestrator.generators.trex.messages import Where
from orchestrator.interruption import Interruption
from rackproof.errors import GeneratorError
from rackproof.model.inventory import Credentials, GeneratorEntry
from rackproof.model.traffic import Arrivals, FrameSize, Stream, Traffic

_HERE = Path(__file__).parent
_TAGGED = bytes.fromhex("02525000fe0102525000fe008100600188b5")

Replay = Callable[[Path], tuple[GeneratorEntry, subprocess.Popen[str]]]


@pytest.fixture
def replay() -> Iterator[Replay]:
    """Serves a recording, to the driver as an entry of an inventory."""
    started: list[subprocess.Popen[str]] = []

    def serve(recording: Path) -> tuple[GeneratorEntry, subprocess.Popen[str]]:
        command = [sys.executable, "-W", "ignore", str(_HERE / "wire.py"), "replay", str(recording)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        return _entry(f"127.0.0.1:{int(process.stdout.readline())}"), process

    yield serve
    for process in started:
        process.communicate()


def _entry(address: str) -> GeneratorEntry:
    return GeneratorEntry(name="trex-1", kind="trex", address=address, ports=("0", "1"), credentials=Credentials(user="rackproof"))


def _traffic(duration_s: float = 0.5) -> Traffic:
    """As it was when the recording was made."""
    there = Stream(
        id=7,
        tx_port="0",
        rx_port="1",
        header=_TAGGED,
        frame_sizes=(FrameSize(frame_bytes=512),),
        rate_fps=400,
        arrivals=Arrivals.CONSTANT,
    )
    back = Stream(
        id=9,
        tx_port="1",
        rx_port="0",
        header=_TAGGED,
        frame_sizes=(FrameSize(frame_bytes=128), FrameSize(frame_bytes=1518)),
        rate_fps=200,
        arrivals=Arrivals.CONSTANT,
    )
    return Traffic(streams=(there, back), campaign=1, trial=1, seed=3, warmup_s=0.1, duration_s=duration_s, drain_s=0.1, batches=5)


def test_a_recorded_trial_gives_what_the_server_counted(replay: Replay) -> None:
    entry, _ = replay(_HERE / "session.json")
    with trex.opened(entry, entry.ports, {}, Interruption(), False) as session:
        assert session.facts()["version"] == "3.08"
        assert [(port.name, port.link_up, port.owner) for port in session.ports()] == [("0", True, "rackproof"), ("1", True, "rackproof")]
        # A server that stood still is behind at the end, and a trial in which it did says so.
        trials = (session.start(_traffic()).wait() for _ in range(5))
        capture = next(capture for capture in trials if not capture.health["unsent_frames"])
    assert {number: (sent.frames, sent.intended_frames) for number, sent in capture.sent.items()} == {7: (200, 200), 9: (100, 100)}
    assert {number: tally.received for number, tally in capture.tallies.items()} == {7: 200, 9: 100}
    assert int(capture.sent[9].octets[-1]) == 50 * (128 + 1518)
    # How much of it within the batches depends on when the counters could be read.
    assert 0 < capture.tallies[7].rx_frames.sum() <= 200
    # The delays that the server's HDR histograms hold do not depend on when they are read again.
    assert int(capture.tallies[7].delay_frames.sum()) == 200
    assert int(capture.tallies[9].delay_frames.sum()) == 100
    assert 100 < capture.tallies[7].delays_us[capture.tallies[7].delay_frames.cumsum().searchsorted(100)] < 1000
    assert capture.health["ring_drops"] == capture.health["foreign_frames"] == 0


def test_ports_of_somebody_else_are_refused_by_name(replay: Replay) -> None:
    entry, _ = replay(_HERE / "owned.json")
    refused = pytest.raises(GeneratorError, match="port 0 belongs to somebody, port 1 belongs to somebody")
    with refused, trex.opened(entry, entry.ports, {}, Interruption(), False):
        pass


def test_another_version_is_refused_with_the_one_that_is_proven(replay: Replay, tmp_path: Path) -> None:
    recording = json.loads((_HERE / "owned.json").read_text())
    for exchange in recording["exchanges"]:
        if exchange["request"]["method"] == "get_version":
            exchange["reply"]["result"]["version"] = "v2.99"
    (tmp_path / "old.json").write_text(json.dumps(recording))
    entry, _ = replay(tmp_path / "old.json")
    refused = pytest.raises(GeneratorError, match=r"runs TRex 2\.99; this driver is proven with 3\.08")
    with refused, trex.opened(entry, entry.ports, {}, Interruption(), False):
        pass


def test_a_server_that_goes_away_ends_the_trial_within_its_bound(replay: Replay) -> None:
    entry, server = replay(_HERE / "session.json")
    with trex.opened(entry, entry.ports, {}, Interruption(), False) as session:
        run = session.start(_traffic(duration_s=5.0))
        server.communicate()
        lost = time.monotonic()
        with pytest.raises(GeneratorError, match="the server was lost while it was sending"):
            run.wait()
        assert time.monotonic() - lost < 30.0


def test_a_python_that_the_client_cannot_run_with_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 12, 1, "final", 0))
    with pytest.raises(GeneratorError, match=r"runs with Python 3\.11 .* this is Python 3\.12"):
        Client(Where(host="127.0.0.1", rpc_port=4501, user="", ports=(0, 1), take_over=False))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"address": ""}, "address: expected the server's HOST or HOST:PORT"),
        ({"ports": ("eth0", "1")}, "ports: expected TRex's port numbers .* found 'eth0'"),
        ({"options": {"cores": 4}}, "options: trex knows capture_frames, fps, found 'cores'"),
        ({"options": {"fps": 0}}, "options.fps: expected a number above 0, found 0"),
        ({"options": {"capture_frames": 0.5}}, "options.capture_frames: expected a whole number, found 0.5"),
    ],
)
def test_an_entry_that_cannot_work_is_refused_before_anything_is_reached(changes: dict[str, object], says: str) -> None:
    (objection,) = trex.objections(_entry("trex-box").model_copy(update=changes))
    assert re.search(says, objection)
