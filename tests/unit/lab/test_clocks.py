"""What chrony and NTP say of a clock, in our sign: positive where the clock is ahead of the time."""

from dataclasses import dataclass

import pytest

from orchestrator.lab import clocks
from rackproof.errors import LabError
from rackproof.model.program import Command, Ended

#: `chronyc -c tracking` (chrony 4.3): slow of NTP time by 12.345 us; root delay 0.9 ms, root dispersion 0.2 ms.
CHRONY = "C0A80001,192.168.0.1,3,1763740800.123456789,0.000012345,-0.000001,0.000004,-3.2,0.0,0.02,0.000900000,0.000200000,64.3,Normal\n"
#: `ntpq -c "rv 0 leap,offset,rootdelay,rootdisp"` (ntp 4.2.8), in ms.
NTP = "leap=00, offset=-0.250000, rootdelay=1.500,\nrootdisp=0.750\n"


@dataclass
class Answering:
    clock: str
    output: str
    exit_status: int = 0
    name: str = "sender-1"

    def call(self, command: Command, timeout_s: float) -> Ended:
        assert command.arguments[0] == {"chrony": "chronyc", "ntp": "ntpq"}[self.clock]
        return Ended(exit_status=self.exit_status, cpu_s=0.0, wall_s=0.0, output=self.output)


def test_chrony() -> None:
    found = clocks.read(Answering("chrony", CHRONY))
    assert found.offset_ms == pytest.approx(-0.012345)
    assert found.bound_ms == pytest.approx(0.65)
    assert (found.source, found.own) == ("chrony, of 192.168.0.1", False)


def test_ntp() -> None:
    found = clocks.read(Answering("ntp", NTP))
    assert (found.offset_ms, found.bound_ms, found.source, found.own) == (0.25, 1.5, "ntp", False)


def test_a_clock_that_follows_nothing_but_itself_says_so() -> None:
    assert clocks.read(Answering("chrony", CHRONY.replace("C0A80001,192.168.0.1", "7F7F0101,"))).own
    assert clocks.read(Answering("ntp", NTP.replace("leap=00,", "leap=00, refid=LOCL,"))).own


@pytest.mark.parametrize(
    ("clock", "output", "exit_status", "said"),
    [
        ("chrony", CHRONY.replace("Normal", "Not synchronised"), 0, "sender-1: chronyc -c tracking: expected a clock that is synchronised"),
        ("chrony", "506 Cannot talk to daemon\n", 1, "found 506 Cannot talk to daemon"),
        ("ntp", NTP.replace("leap=00", "leap=11"), 0, "expected a clock that is synchronised, found leap=11"),
        ("ntp", "", 0, "found nothing"),
    ],
)
def test_a_clock_that_nobody_keeps_is_no_clock(clock: str, output: str, exit_status: int, said: str) -> None:
    with pytest.raises(LabError, match=said):
        clocks.read(Answering(clock, output, exit_status))
