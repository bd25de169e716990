"""Which LSPs did a killed signaller leave in the devices? Kept in a file beside the lock of its ingress port, for whoever has it next."""

import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from pydantic import TypeAdapter, ValidationError

from orchestrator.signalling.pair import Pair, cleared
from rackproof.errors import SignallingError
from rackproof.model.lsp import Signalling

#: How long nobody looks what stands [s]: so many times as long as looking took, which takes longer where the machine stands still.
KEEP_S_MIN, SHARE, KEEP_S_MAX = 0.05, 20, 5.0
#: Refresh times after which state that is not refreshed is gone (RFC 2205, 3.7, with K = 3).
LIFETIME_REFRESHES = 3.5 * 1.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Left:
    """What stood at a time of the system's clock, which is the file's own [s]. standing: tunnel id and LSP id."""

    owner: str
    signalling: Signalling
    standing: tuple[tuple[int, int], ...]
    at_s: float = 0.0

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """What the file says; None where there is none of this user's, or it says nothing."""
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return None
        with os.fdopen(fd, "rb") as file:
            status = os.fstat(fd)
            if status.st_uid != os.geteuid():
                return None
            try:
                return replace(TypeAdapter(cls).validate_json(file.read()), at_s=status.st_mtime)
            except ValidationError:
                return None

    def write(self, path: Path) -> None:
        """Replace the file as a whole."""
        new = path.with_name(f"{path.name}.new")
        new.unlink(missing_ok=True)
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(TypeAdapter(type(self)).dump_json(self))
        new.replace(path)

    def cleared(self, port: str, ports: Mapping[str, object]) -> str:
        """Tear down what may still be there, on ports that are ours now; what was found and done, in words."""
        age_s = max(0.0, time.time() - self.at_s)
        lifetime_s = LIFETIME_REFRESHES * self.signalling.refresh_s
        ler = self.signalling.egress
        found = f"{port}: {self.owner} ended {age_s:.0f} s ago and left {len(self.standing)} LSPs to {ler.router_id} in the devices"
        if age_s > lifetime_s:
            return f"{found}; their lifetime of {lifetime_s:g} s is over, so nothing was done"
        end = f"what is left ends with its lifetime in at most {lifetime_s - age_s:.0f} s"
        if not self.standing:
            return f"{found}, as far as it had noted them; {end}"
        if ler.port not in ports:
            return f"{found}; they were not torn down, for the egress port {ler.port} is not among those taken; {end}"
        try:
            sent, seen = cleared(self.signalling, None, self.standing)
        except SignallingError as error:
            return f"{found}; they were not torn down: {error}; {end}"
        done = f"{found}; {sent} tears were sent, and the egress saw {seen}"
        return done if seen == len(self.standing) else f"{done}; {end}"


class Keeper:
    """Writes down what a pair of LERs leaves standing, as it changes; close() after the pair was closed."""

    def __init__(self, path: Path, owner: str, pair: Pair) -> None:
        self._path = path
        self._owner = owner
        self._pair = pair
        self._written: Sequence[tuple[int, int]] | None = None
        self._over = threading.Event()
        self._write(())
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    def _keep(self) -> None:
        wait_s = KEEP_S_MIN
        while not self._over.wait(wait_s):
            begun = time.monotonic()
            self._write(self._pair.standing())
            wait_s = min(KEEP_S_MAX, max(KEEP_S_MIN, SHARE * (time.monotonic() - begun)))

    def _write(self, standing: Sequence[tuple[int, int]]) -> None:
        with suppress(OSError):
            if standing != self._written:
                left = Left(owner=self._owner, signalling=self._pair.asked, standing=tuple(standing))
                left.write(self._path)
                self._written = standing
            else:
                os.utime(self._path)

    def close(self) -> None:
        """End; the file stays only where something may still stand."""
        self._over.set()
        self._thread.join()
        standing = self._pair.standing()
        if standing:
            self._write(standing)
        else:
            self._path.unlink(missing_ok=True)
