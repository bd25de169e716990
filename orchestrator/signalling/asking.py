"""Two LERs in another process, as the campaign's process sees them: rackproof.ports.Signaller."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.bench.captures import capture_of
from orchestrator.bench.served import Served
from orchestrator.generators.native.run import Outcome
from rackproof.errors import SignallingError
from rackproof.model.lsp import Established, Flaps, Signalling
from rackproof.model.traffic import Capture
from rackproof.ports import Run, Signaller

#: How often the process is asked whether it is done [s].
POLL_S = 0.02
#: How late phases may end [s].
LATE_S = 10.0


@contextlib.contextmanager
def signalled(served: Served, asked: Signalling) -> Iterator[Signaller]:
    """Two LERs on ports of a process that knows the requests of orchestrator.signalling.pair. On exit all that stands is torn down."""
    served.request("lsp_open", signalling=asked)
    try:
        yield _Served(served)
    finally:
        # Nobody's wish for an end ends this; a process that is gone has torn them down itself.
        if served.running:
            served.request("lsp_close")


class _Served:
    def __init__(self, served: Served) -> None:
        self._served = served

    def establish(self) -> Established:
        self._served.request("lsp_establish")
        established: Established = self._answer("lsp_established")
        return established

    def start(self, flaps: Flaps) -> Run:
        self._served.request("lsp_flap", flaps=flaps)
        return _Flapping(self._served, flaps)

    def release(self) -> Mapping[str, float]:
        self._served.request("lsp_tear")
        counted: Mapping[str, float] = self._answer("lsp_torn")
        return counted

    def _answer(self, name: str) -> Any:
        """What a request gives once it gives something; the process bounds how long that takes. Raises LabError, Stopped."""
        while (answer := self._served.request(name)) is None:
            self._served.wait_or_fail(POLL_S)
        return answer


class _Flapping:
    def __init__(self, served: Served, flaps: Flaps) -> None:
        self._served = served
        self._end = time.monotonic() + flaps.prior_s + sum(flaps.windows_s) + flaps.drain_s
        self._over = False

    def stop(self) -> None:
        # A process that is gone signals nothing, and why it is gone is what must be told.
        if not self._over and self._served.running:
            self._served.request("lsp_halt")
            self._end = time.monotonic()

    def wait(self) -> Capture:
        while (left := self._end - time.monotonic()) > 0:
            self._served.wait_or_fail(left)
        deadline = time.monotonic() + LATE_S
        while True:
            outcome, fds = self._served.request_with_files("lsp_collect")
            if isinstance(outcome, Outcome) and len(fds) == 1:
                self._over = True
                return capture_of(outcome, fds[0])
            if time.monotonic() > deadline:
                raise SignallingError(f"the phases did not end within {LATE_S:g} s after their time; the host may be overloaded")
            self._served.wait_or_fail(POLL_S)
