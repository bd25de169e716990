"""From a directory of Pantheon's files to a campaign like any other: its plan, trials, results, samples and provenance."""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np

import rackproof
from rackproof.errors import FileError, Problem, StoreError
from rackproof.model.campaign import CampaignState, TrialRecord
from rackproof.model.path import BACKWARD, FORWARD, Packets
from rackproof.model.traffic import Capture, Samples
from rackproof.model.trial import Observation, Trial, TrialResult
from rackproof.model.verdict import Verdict
from rackproof.planfile import parse_plan, validate
from rackproof.store import Store
from rackproof.store import samples as files
from testplans.congestion_control.analysis import measure
from testplans.congestion_control.expansion import expand
from testplans.congestion_control.opportunities import PORTS, Opportunities
from testplans.congestion_control.pantheon.logs import Log, read_log
from testplans.congestion_control.pantheon.metadata import Metadata, Stats, read_metadata, read_stats
from testplans.congestion_control.pantheon.names import LABELS, PANTHEONS_NAME, scheme_id
from testplans.congestion_control.plan import CongestionControlPlan
from testplans.congestion_control.validity import Expectations
from testplans.registry import kind
from testplans.verdict import campaign_verdict

KIND = "congestion-control"
#: The testbed of campaigns that were measured elsewhere.
TESTBED = "imported"
#: Runs that are read at the same time.
_AT_ONCE = 2
_PCP_NONE = 255


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """A run that was read: what came of it, and when it was."""

    record: TrialRecord
    stats: Stats


def import_directory(folder: Path, store: Store) -> int:
    """Read a directory of Pantheon's files and store it as a campaign that is done; its id.

    A run whose log is missing or wrong keeps its place, with the reason. Raises FileError and PlanError where there is nothing to import,
    and StoreError; then nothing is stored.
    """
    try:
        metadata = read_metadata(folder)
    except OSError as error:
        raise FileError(str(folder), _unreadable(error)) from error
    names = _names(metadata)
    text = json.dumps(_plan(folder, metadata, list(names)), indent=1, ensure_ascii=False)
    file = parse_plan(text.encode(), str(folder))
    plan = validate(CongestionControlPlan, file)
    trials = expand(plan)
    with store.transactions.together(f"the import of {folder} could not be stored"):
        campaign = store.create_campaign(
            name=plan.name,
            kind=plan.kind,
            testbed=TESTBED,
            plan=plan.model_dump(mode="json"),
            plan_text=file.text,
            plan_sha256=file.sha256,
            trials=trials,
        )
        with _samples_removed_on_failure(store, campaign, trials):
            runs = _Runs(folder, metadata, names, store, campaign)
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                imported = list(pool.map(runs.read, trials))
            store.set_provenance(campaign, _provenance(folder, metadata, names))
            for each in imported:
                assert each.record.result is not None
                store.save_result(campaign, each.record.trial.index, each.record.result, each.record.samples)
            record = replace(store.campaign(campaign), trials=tuple(each.record for each in imported))
            findings = kind(KIND).conclude(record)
            verdict, reason = campaign_verdict(findings, record.trials, kind(KIND).expectation(plan))
            store.finish(campaign, CampaignState.DONE, verdict, reason, findings)
            store.elsewhere.date(campaign, dict(_times(imported)))
    return campaign


class _Runs:
    """Reads the runs of a directory; threads may share one."""

    def __init__(self, folder: Path, metadata: Metadata, names: Mapping[str, str], store: Store, campaign: int) -> None:
        self._folder, self._metadata, self._names, self._store, self._campaign = folder, metadata, names, store, campaign
        self._expected = Expectations(runtime_s=metadata.runtime_s)

    def read(self, trial: Trial) -> Imported:
        """Read, measure and keep one run; whatever is wrong with its files is its result."""
        name = self._names[str(trial.point["scheme"])]
        run = trial.repetition + self._metadata.first_run - 1
        stats = Stats()
        try:
            stats = read_stats(self._folder / f"{name}_stats_run{run}.log")
            path = self._log(name, "datalink", run)
            if path is None:
                why = f"{name}_datalink_run{run}.log is not there: the run failed, or its log was not kept"
                return Imported(record=TrialRecord(trial=trial, result=_failed(why, stats)), stats=stats)
            log = read_log(path)
            back = self._log(name, "acklink", run)
            samples = samples_of(log, None if back is None else read_log(back))
        except (FileError, OSError) as error:
            why = str(error) if isinstance(error, FileError) else str(FileError(str(error.filename), _unreadable(error)))
            return Imported(record=TrialRecord(trial=trial, result=_failed(why, stats)), stats=stats)
        health = {**_offsets(stats), **{key: float(value) for key, value in _counted(log).items() if value}}
        observation = Observation(capture=Capture(samples=samples, sent={}, batch_starts_ns=np.empty(0, np.int64), health=health))
        result = measure(observation, self._expected)
        kept = self._store.write_samples(self._campaign, trial.index, samples)
        return Imported(record=TrialRecord(trial=trial, result=result, samples=kept), stats=stats)

    def _log(self, name: str, link: str, run: int) -> Path | None:
        for prefix in (name, f"{name}_mm"):
            path = self._folder / f"{prefix}_{link}_run{run}.log"
            if path.exists():
                return path
        return None


def _names(metadata: Metadata) -> dict[str, str]:
    """Test (as Trial.point has it) -> Pantheon's name; of two names that mean the same scheme the later keeps its own."""
    names: dict[str, str] = {}
    for name in metadata.schemes:
        known = scheme_id(name)
        names[known if known not in names else name.replace("_", "-")] = name
    return names | {"+".join(map(scheme_id, flows)): name for name, flows in metadata.mixed.items()}


def _plan(folder: Path, metadata: Metadata, tests: list[str]) -> dict[str, object]:
    mixes = [[scheme_id(flow) for flow in flows] for flows in metadata.mixed.values()]
    return {
        "kind": KIND,
        "name": f"Pantheon: {folder.resolve().name}"[:120],
        "description": f"Imported from a directory of Pantheon's files. {metadata.path}"[:4000],
        "testbed": TESTBED,
        "schemes": [test for test in tests if "+" not in test],
        "mixes": [mix for mix in mixes if len(mix) > 1],
        "flows": metadata.flows if metadata.schemes else 1,
        "flow_interval_s": metadata.interval_s,
        "runtime_s": metadata.runtime_s,
        "repetitions": metadata.runs,
        "path": {"forward": {"elsewhere": metadata.path}},
        "order": "plan",
    }


def _provenance(folder: Path, metadata: Metadata, names: Mapping[str, str]) -> dict[str, dict[str, str]]:
    found = {
        "Rackproof": {"version": rackproof.__version__},
        "Pantheon": {
            "directory": folder.resolve().name,
            "path": metadata.path,
            "start_run_id": str(metadata.first_run),
            **{f"test {test}": name for test, name in names.items() if "+" in test},
            **metadata.facts,
        },
    }
    return found | {
        f"Scheme {test}": {"label": LABELS.get(test, name), PANTHEONS_NAME: name} for test, name in names.items() if "+" not in test
    }


def samples_of(forward: Log, backward: Log | None) -> Samples:
    """Rows of both directions and of their delivery opportunities, one after the other, each in order of time."""
    parts = [_rows(forward.packets, FORWARD), *_chances(forward.opportunities, FORWARD)]
    if backward is not None:
        parts += [_rows(backward.packets, BACKWARD), *_chances(backward.opportunities, BACKWARD)]
    if len(parts) == 1:
        return parts[0]
    names = ("tx_ns", "rx_ns", "sequence", "stream", "frame_bytes", "port", "pcp")
    return Samples(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def _rows(packets: Packets, port: int) -> Samples:
    count = len(packets)
    return Samples(
        tx_ns=packets.ingress_ns,
        rx_ns=packets.egress_ns,
        sequence=np.arange(count, dtype=np.uint32),
        stream=packets.flow,
        frame_bytes=packets.packet_bytes,
        port=np.full(count, port, np.uint16),
        pcp=np.full(count, _PCP_NONE, np.uint8),
    )


def _chances(opportunities: Opportunities, direction: int) -> list[Samples]:
    count = len(opportunities)
    if not count:
        return []
    packets = Packets(
        ingress_ns=opportunities.time_ns,
        egress_ns=np.zeros(count, np.int64),
        flow=np.zeros(count, np.uint16),
        packet_bytes=opportunities.octets,
    )
    return [_rows(packets, PORTS[direction])]


def _counted(log: Log) -> dict[str, int]:
    return {"departures_without_arrival": log.unpaired, "negative_delays": log.negative, "torn_lines": log.torn}


def _offsets(stats: Stats) -> dict[str, float]:
    offsets = {"clock_offset.local_ms": stats.local_offset_ms, "clock_offset.remote_ms": stats.remote_offset_ms}
    return {name: value for name, value in offsets.items() if value is not None}


def _failed(why: str, stats: Stats) -> TrialResult:
    return TrialResult(verdict=Verdict.ERROR, reason=why, health=_offsets(stats))


def _unreadable(error: OSError) -> Problem:
    return Problem(where="file", expected="a file that can be read", found=error.strerror or str(error))


@contextmanager
def _samples_removed_on_failure(store: Store, campaign: int, trials: Sequence[Trial]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(StoreError):
            for trial in trials:
                files.delete(store.samples_place, f"{campaign}/{trial.index}.parquet")
        raise


def _times(imported: list[Imported]) -> Iterator[tuple[int, tuple[datetime, datetime]]]:
    for each in imported:
        if each.stats.start is not None and each.stats.end is not None:
            yield each.record.trial.index, (each.stats.start, each.stats.end)
