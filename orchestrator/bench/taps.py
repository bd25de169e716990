"""The tap of an emulated path, or of emulated links, as the campaign's process sees it: rackproof.ports.Tap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.bench.captures import capture_of
from orchestrator.generators.native.run import Outcome
from rackproof.errors import GeneratorError
from rackproof.model.traffic import Capture
from rackproof.ports import Run

if TYPE_CHECKING:
    from orchestrator.bench.testbed import Bench


class BenchTap:
    """Records in the engine of a path, or of the emulated links (None); what it saw comes as a file."""

    def __init__(self, bench: Bench, device: str | None) -> None:
        self._bench = bench
        self._device = device

    def start(self) -> Run:
        self._bench.request("tap_start", device=self._device)
        return _Recording(self._bench, self._device)


class _Recording:
    def __init__(self, bench: Bench, device: str | None) -> None:
        self._bench = bench
        self._device = device
        self._over = False

    def stop(self) -> None:
        # A bench that is gone records nothing, and why it is gone is what must be told.
        if not self._over and self._bench.running:
            self._bench.request("tap_stop", device=self._device)
            self._over = True

    def wait(self) -> Capture:
        self.stop()
        outcome, fds = self._bench.request_with_files("tap_collect", device=self._device)
        if not isinstance(outcome, Outcome) or len(fds) != 1:
            raise GeneratorError("the bench's process sent no records")
        return capture_of(outcome, fds[0])
