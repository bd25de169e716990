"""Does the process behind a row of `workers` still live? The database knows by its clock, and the same machine by its processes."""

import contextlib
import functools
import os
import socket
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, select, text

from rackproof.model.campaign import CampaignState
from rackproof.store.schema import Campaign

_LIVING = text("SELECT name, incarnation, host, pid, pid_started, testbeds FROM workers WHERE expires > clock_timestamp() ORDER BY name")
_NOWHERE = "unknown"


@functools.cache
def this_host() -> str:
    """The name of this machine, and what tells its process numbers from those of others: its boot and the namespace of processes."""
    namespace = _NOWHERE
    with contextlib.suppress(OSError):
        namespace = os.readlink("/proc/self/ns/pid")
    return f"{socket.gethostname()} {_read('/proc/sys/kernel/random/boot_id')} {namespace}"


@functools.cache
def this_machine() -> str:
    """What stays the same over boots: two benches of one machine share its processors."""
    found = _read("/etc/machine-id")
    return found if found not in ("", _NOWHERE, "uninitialized") else _read("/proc/sys/kernel/random/boot_id")


def started(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None where it has ended or was never there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        pass  # somebody else's
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return 0 if _hidden() else None
    except OSError:
        return 0
    # The name, in parentheses, may hold anything; what follows it does not.
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else int(fields[18])


def gone(host: str, pid: int, pid_started: int) -> bool:
    """True where the process surely has ended: it was on this machine, and there is none of that number and start."""
    if host != this_host() or _NOWHERE in host.split()[1:]:
        return False
    now = started(pid)
    return now is None or (now not in (0, pid_started) and pid_started != 0)


def living(connection: Connection) -> frozenset[str]:
    """The incarnations of all workers that live, as far as the database and this machine know."""
    return frozenset(row.incarnation for row in _living(connection))


def serving(connection: Connection) -> dict[str, list[str]]:
    """The names of the workers that live, by the testbeds that they serve."""
    found: dict[str, list[str]] = {}
    for row in _living(connection):
        for testbed in row.testbeds:
            found.setdefault(testbed, []).append(row.name)
    return found


def _living(connection: Connection) -> list[Row[Any]]:
    return [row for row in connection.execute(_LIVING) if not gone(row.host, row.pid, row.pid_started)]


def state_of(connection: Connection, campaign: int) -> CampaignState:
    """A campaign's state as people see it: INTERRUPTED where it is stored as RUNNING while its worker is gone."""
    while True:
        was = connection.execute(select(Campaign.state, Campaign.incarnation).where(Campaign.id == campaign)).one()
        state = CampaignState(was.state)
        if state is not CampaignState.RUNNING or was.incarnation in living(connection):
            return state
        # A worker ends after its campaigns: where the row is still the same, they were left behind.
        now = connection.execute(select(Campaign.state, Campaign.incarnation).where(Campaign.id == campaign)).one()
        if (now.state, now.incarnation) == (was.state, was.incarnation):
            return CampaignState.INTERRUPTED


def _hidden() -> bool:
    # A machine may hide the processes of others (hidepid): then nothing is known of them.
    return not Path("/proc/1/stat").exists()


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return _NOWHERE
