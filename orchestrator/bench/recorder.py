"""How the engine writes down what it forwards, and what is kept of that: a tap's part in the bench's process."""

import os
from collections.abc import Mapping

import numpy as np
from rackproof_native import Path, PathReport, Wires, WiresReport

from orchestrator.generators.native.run import Outcome
from rackproof.errors import GeneratorError, LabError
from rackproof.model.traffic import RECORD_DTYPE


class Recorder:
    """One recording at a time. name: what failures are told of; error: what they are raised as."""

    def __init__(self, name: str, error: type[LabError]) -> None:
        self._name = name
        self._error = error
        self._engine: Path | Wires | None = None
        self._start_ns = 0
        self._before: PathReport | WiresReport | None = None
        self._recorded: Outcome | None = None

    @property
    def running(self) -> bool:
        """True while it records."""
        return self._engine is not None

    def start(self, engine: Path | Wires) -> None:
        """Begin to record what the engine forwards."""
        try:
            self._before = engine.report()
            self._start_ns = engine.start_recording()
        except (OSError, RuntimeError) as error:
            raise self._error(f"{self._name}: {error}") from error
        self._engine = engine

    def stop(self) -> None:
        """End recording; collect() hands over what was seen."""
        engine, before = self._engine, self._before
        if engine is None or before is None:
            raise self._error(f"{self._name}: nothing is being recorded")
        self._engine = None
        try:
            span_ns = np.array([self._start_ns, engine.stop_recording()], np.int64)
            health = _health(before, engine.report())
            fd, overflow, *foreign = engine.take_records_fd()
        except (OSError, RuntimeError) as error:
            raise self._error(f"{self._name}: {error}") from error
        self._forget()
        self._recorded = Outcome(
            fd=fd,
            records=os.fstat(fd).st_size // RECORD_DTYPE.itemsize,
            first_sequence={},
            octets={},
            intended_frames={},
            batch_starts_ns=span_ns,
            health={**health, "overflow": overflow, **({"foreign_frames": foreign[0]} if foreign else {})},
        )

    def collect(self) -> Outcome:
        """What the last recording saw, once; its file is the caller's. Raises GeneratorError."""
        if self._recorded is None:
            raise GeneratorError(f"{self._name}: nothing was recorded")
        recorded, self._recorded = self._recorded, None
        return recorded

    def abandon(self) -> None:
        """Forget what is being recorded: its engine has ended."""
        self._engine = None

    def close(self) -> None:
        """Forget that, and what nobody collected."""
        self.abandon()
        self._forget()

    def _forget(self) -> None:
        if self._recorded is not None:
            os.close(self._recorded.fd)
            self._recorded = None


def _health(before: PathReport | WiresReport, after: PathReport | WiresReport) -> Mapping[str, float]:
    medians = after.forward_lateness_ns_p50 if isinstance(after, WiresReport) else []
    return {
        "lateness_p50_us": after.lateness_ns_p50 / 1e3,
        "lateness_p99_us": after.lateness_ns_p99 / 1e3,
        "lateness_max_us": after.lateness_ns_max / 1e3,
        **{f"lateness_p50_us.{wire}": median_ns / 1e3 for wire, median_ns in enumerate(medians)},
        "stalled_ms": after.stalled_ns / 1e6,
        "clock_step_us": abs(after.clock_step_ns - before.clock_step_ns) / 1e3,
        "send_errors": _errors(after) - _errors(before),
        "ring_drops": after.ring_drops - before.ring_drops,
        "load_average_1min": os.getloadavg()[0],
    }


def _errors(report: PathReport | WiresReport) -> int:
    directions = [*report.forward, *report.backward] if isinstance(report, WiresReport) else [report.forward, report.backward]
    return sum(counts.errors for counts in directions)
