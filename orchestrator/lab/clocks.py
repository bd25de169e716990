"""How far is the clock of a host from the time, and how well is that known? As chrony or NTP on the host says."""

import re
from dataclasses import dataclass
from typing import Protocol

from rackproof.errors import LabError
from rackproof.model.program import Command, Ended

READ_S = 10.0
_CHRONY = ("chronyc", "-c", "tracking")
_NTP = ("ntpq", "-n", "-c", "rv 0 leap,refid,offset,rootdelay,rootdisp")
#: Fields of a line of `chronyc -c tracking` (chrony 2.2 and later).
_FIELDS = 14
#: What the clock follows where it follows none: chrony's local mode, NTP's local clock.
_OWN_CHRONY, _OWN_NTP = "7F7F0101", ("LOCL", "LOCAL", "127.127.1.0", "127.127.1.1")
_VARIABLE = re.compile(r"(\w+)=([-+\w.]+)")


class Kept(Protocol):
    """A host whose clock something keeps: chrony or ntp."""

    @property
    def name(self) -> str: ...

    @property
    def clock(self) -> str: ...

    def call(self, command: Command, timeout_s: float) -> Ended: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """offset_ms: what the clock shows less the time; bound_ms: the true offset is not farther from it. source: what says so.

    own: the clock follows no other, and is right by its own account alone: of two that are to agree, one may be so.
    """

    offset_ms: float
    bound_ms: float
    source: str
    own: bool = False


def read(host: Kept) -> Reading:
    """Ask a host. Raises LabError where its clock is not synchronised, or nobody there knows."""
    parse, command = (_chrony, _CHRONY) if host.clock == "chrony" else (_ntp, _NTP)
    done = host.call(Command(arguments=command), READ_S)
    found = parse(done.output) if done.exit_status == 0 else None
    if found is None:
        said = " ".join(done.output.split()) or "nothing"
        raise LabError(f"{host.name}: {' '.join(command)}: expected a clock that is synchronised, found {said}")
    return found


def _chrony(output: str) -> Reading | None:
    """Of `chronyc -c tracking`; None where it says that nothing is known. The bound is that of its manual (tracking, root dispersion)."""
    fields = output.strip().split(",")
    if len(fields) != _FIELDS or fields[13] == "Not synchronised":
        return None
    # Positive: the clock is slow (client.c prints "slow of NTP time" for it).
    slow_s, delay_s, dispersion_s = float(fields[4]), float(fields[10]), float(fields[11])
    source = f"chrony, of {fields[1] or fields[0]}"
    own = fields[0] == _OWN_CHRONY
    return Reading(offset_ms=-1e3 * slow_s, bound_ms=1e3 * (dispersion_s + delay_s / 2), source=source, own=own)


def _ntp(output: str) -> Reading | None:
    """Of ntpq's system variables, which are in ms; None where the clock is not synchronised. The bound is RFC 5905's root distance."""
    found = dict(_VARIABLE.findall(output))
    if not {"offset", "rootdelay", "rootdisp"} <= set(found) or found.get("leap") in ("11", "3"):
        return None
    # Positive: the clock is slow; it is what must be added to it (RFC 5905, section 8).
    offset_ms, delay_ms, dispersion_ms = (float(found[name]) for name in ("offset", "rootdelay", "rootdisp"))
    own = found.get("refid", "").strip(".").upper() in _OWN_NTP
    return Reading(offset_ms=-offset_ms, bound_ms=dispersion_ms + delay_ms / 2, source="ntp", own=own)
