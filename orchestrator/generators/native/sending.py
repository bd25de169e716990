"""The native engine in another process, as the campaign's process sees it: rackproof.ports.Generator."""

import time

from orchestrator.bench.captures import capture_of
from orchestrator.bench.served import REQUEST_S, Served
from orchestrator.generators.native.run import Outcome
from rackproof.errors import GeneratorError
from rackproof.model.traffic import Capture, Traffic
from rackproof.ports import Run


class Sending:
    """A generator whose process knows start, stop and collect."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def start(self, traffic: Traffic) -> Run:
        self._served.request("start", traffic=traffic)
        return _Run(self._served, traffic)


class _Run:
    def __init__(self, served: Served, traffic: Traffic) -> None:
        self._served = served
        self._traffic = traffic
        self._end = time.monotonic() + traffic.warmup_s + traffic.duration_s
        self._over = False

    def stop(self) -> None:
        # A process that is gone sends nothing, and why it is gone is what must be told.
        if not self._over and self._served.running:
            self._served.request("stop")
            self._end = time.monotonic()

    def wait(self) -> Capture:
        while (left := self._end - time.monotonic()) > 0:
            self._served.wait_or_fail(left)
        outcome, fds = self._served.request_with_files("collect", timeout_s=self._traffic.drain_s + REQUEST_S)
        self._over = True
        if not isinstance(outcome, Outcome) or len(fds) != 1:
            raise GeneratorError("the engine's process sent no records")
        return capture_of(outcome, fds[0])
