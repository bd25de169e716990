"""The emulated links of a topology: one native engine, in a namespace of its own, between the ends that they join."""

from collections.abc import Mapping, Sequence

import rackproof_native as engine

from orchestrator.bench import links
from orchestrator.bench.cpus import Cpus
from orchestrator.bench.namespaces import Namespace
from orchestrator.bench.recorder import Recorder
from orchestrator.generators.native.run import Outcome
from rackproof.errors import BenchError
from rackproof.model.topology import Link
from rackproof.model.xcf import FIRST_LINK

NAME = "wires"


class Wires:
    """Forwards from the moment it is made. Records the frames of one campaign's trial, on their way from a link's end a to its end b.

    yields: whether threads of ours forward between the links, on the same processor.
    """

    def __init__(self, emulated: Sequence[Link], namespaces: Mapping[str, Namespace], *, yields: bool) -> None:
        self._namespace = Namespace(NAME)
        self._recorder = Recorder(NAME, BenchError)
        self._trial: tuple[int, int] | None = None
        try:
            self._engine = engine.Wires(
                netns_fd=self._namespace.fd,
                wires=[self._cabled(number, link, namespaces) for number, link in enumerate(emulated)],
                first_port=FIRST_LINK,
                yields=yields,
                cpu=Cpus.of_process().device,
                nice=Cpus.of_process().nice,
            )
            self._engine.start()
        except Exception as error:
            self._namespace.close()
            if isinstance(error, OSError | ValueError | OverflowError):
                raise BenchError(f"the emulated links do not start: {error}") from error
            raise

    def _cabled(self, number: int, link: Link, namespaces: Mapping[str, Namespace]) -> engine.Wire:
        assert link.wire is not None
        ends = (f"w{number}-a", f"w{number}-b")
        for end, inside in zip((link.a, link.b), ends, strict=True):
            links.cable(namespaces[end.node], end.port, self._namespace, inside)
        return engine.Wire(*ends, rate_bps=link.wire.rate_bps, queue_frames=link.wire.queue_frames, delay_us=link.wire.delay_us)

    def expect(self, trial: tuple[int, int] | None) -> None:
        """Which campaign's trial the frames are of that are being sent, None where none are: those are recorded, and no others."""
        self._trial = trial
        if trial is not None and self._recorder.running:
            self._select(trial)

    def tap_start(self) -> None:
        """Begin to record. Raises BenchError."""
        self._recorder.start(self._engine)
        if self._trial is not None:
            self._select(self._trial)

    def tap_stop(self) -> None:
        """End recording. Raises BenchError."""
        self._recorder.stop()

    def tap_collect(self) -> Outcome:
        """What the last recording saw, once; its file is the caller's. Raises GeneratorError."""
        return self._recorder.collect()

    def close(self) -> None:
        """Stop forwarding."""
        self._engine.stop()
        self._recorder.close()
        self._namespace.close()

    def _select(self, trial: tuple[int, int]) -> None:
        try:
            self._engine.select(*trial)
        except RuntimeError as error:
            raise BenchError(f"{NAME}: {error}") from error
