"""From a campaign to a directory of Pantheon's files: logs of every run, metadata, and its table of results."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rackproof.errors import Conflict, FileError, Problem
from rackproof.model.campaign import CampaignRecord, TrialRecord
from rackproof.model.path import BACKWARD, DROPPED, FORWARD, Packets
from rackproof.model.traffic import Samples
from rackproof.store import Store
from rackproof.units import NS_PER_S
from testplans.congestion_control.opportunities import Opportunities
from testplans.congestion_control.pantheon.logs import DROPS
from testplans.congestion_control.pantheon.metadata import FILE, MIXED, OWN_FACTS, Stats, write_stats
from testplans.congestion_control.pantheon.names import PANTHEONS_NAME, pantheon_name
from testplans.congestion_control.plan import CongestionControlPlan

KIND = "congestion-control"
PERFORMANCE = "pantheon_perf.json"
#: What Pantheon calls them, in percent or not: its loss is a share.
_NUMBERS = {"throughput": "tput", "delay.p95": "delay", "loss.pantheon": "loss"}
_SCHEMA = {
    "time": pl.Int64(),
    "event": pl.String(),
    "size": pl.UInt16(),
    "delay": pl.Int64(),
    "more": pl.UInt16(),
    "flow": pl.UInt16(),
}
Integers = npt.NDArray[np.int64]


def export_campaign(campaign: CampaignRecord, store: Store, folder: Path) -> int:
    """Write a campaign's runs into a folder, made if need be; how many files were written.

    Raises Conflict where the campaign is of another kind, FileError where the folder cannot be written to or holds other runs.
    """
    if campaign.kind != KIND:
        raise Conflict(f"campaign {campaign.id} is of the kind {campaign.kind}: Pantheon's files are about {KIND}")
    plan = CongestionControlPlan.model_validate(campaign.plan)
    names = {test: _name(campaign, test, flows) for test, flows in plan.tests}
    first_run = int(campaign.provenance.get("Pantheon", {}).get("start_run_id", "1"))
    written = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / FILE).exists():
            raise FileError(str(folder), Problem(where="directory", expected="one without Pantheon's files", found=FILE))
        for each in campaign.trials:
            written += _export_run(each, store, folder, names[str(each.trial.point["scheme"])], each.trial.repetition + first_run - 1)
        (folder / PERFORMANCE).write_text(_json(performance(campaign, names, first_run)))
        (folder / FILE).write_text(_json(_metadata(campaign, plan, names, first_run)))
    except OSError as error:
        problem = Problem(where="directory", expected="one that can be written to", found=error.strerror or str(error))
        raise FileError(str(folder), problem) from error
    return written + 2


def performance(campaign: CampaignRecord, names: Mapping[str, str], first_run: int = 1) -> dict[str, dict[str, Any]]:
    """Pantheon's table of results: scheme -> run -> "all" or flow -> tput [Mbit/s], delay [ms], loss (a share).

    names: Pantheon's of each test. A run without valid statistics is null.
    """
    found: dict[str, dict[str, Any]] = {name: {} for name in names.values()}
    for each in campaign.trials:
        numbers: dict[str, dict[str, float]] = {}
        result = each.result
        if result is not None and not result.reason:
            for measurement in result.measurements:
                if measurement.name in _NUMBERS:
                    numbers.setdefault(measurement.subject["flow"], {})[_NUMBERS[measurement.name]] = measurement.value
        found[names[str(each.trial.point["scheme"])]][str(each.trial.repetition + first_run - 1)] = numbers or None
    return found


def _export_run(record: TrialRecord, store: Store, folder: Path, name: str, run: int) -> int:
    """How many files."""
    (folder / f"{name}_stats_run{run}.log").write_text(write_stats(_stats(record)))
    if record.samples is None:
        return 1
    samples = store.read_samples(record.samples)
    begin_ns = _begin_ns(samples)
    written = 1
    for link, direction in (("datalink", FORWARD), ("acklink", BACKWARD)):
        packets, opportunities = Packets.of(samples, direction), Opportunities.of(samples, direction)
        if len(packets) or len(opportunities) or direction == FORWARD:
            write_log(folder / f"{name}_{link}_run{run}.log", packets, opportunities, begin_ns)
            written += 1
    return written


def write_log(path: Path, packets: Packets, opportunities: Opportunities, begin_ns: int) -> None:
    """Write a merged tunnel log whose time begins at begin_ns, with what was dropped: mahimahi's `d`, and the flow behind it."""
    left, dropped = packets.delivered, packets.egress_ns == DROPPED
    came_us, left_us, flow, octets = (
        _us(packets.ingress_ns, begin_ns),
        _us(packets.egress_ns[left], begin_ns),
        packets.flow,
        packets.packet_bytes,
    )
    lines = pl.concat(
        [
            _events(_us(opportunities.time_ns, begin_ns), "#", opportunities.octets),
            _events(came_us, "+", octets, flow=flow),
            _events(came_us[dropped], "d", np.ones(int(dropped.sum()), np.uint16), more=octets[dropped], flow=flow[dropped]),
            _events(left_us, "-", octets[left], delay_us=left_us - came_us[left], flow=flow[left]),
        ],
        how="diagonal",
    ).sort("time", maintain_order=True)
    columns = [_milliseconds("time"), pl.col("event"), pl.col("size"), _milliseconds("delay"), pl.col("more"), pl.col("flow")]
    with path.open("wb") as file:
        file.write(b"# init timestamp: %d.%03d\n" % divmod(begin_ns // 1000, 1000) + DROPS)
        text = lines.select(pl.concat_str(columns, separator=" ", ignore_nulls=True))
        text.write_csv(file, include_header=False, quote_style="never")


def _events(time_us: Integers, event: str, octets: npt.NDArray[np.uint16], **more: npt.NDArray[np.generic]) -> pl.DataFrame:
    known = {"time": time_us, "size": octets, **{name.removesuffix("_us"): values for name, values in more.items()}}
    empty = pl.DataFrame(schema=_SCHEMA)
    return pl.concat([empty, pl.DataFrame(known).with_columns(event=pl.lit(event))], how="diagonal_relaxed")


def _milliseconds(name: str) -> pl.Expr:
    """A column of microseconds as milliseconds with three decimals."""
    size, sign = pl.col(name).abs(), pl.when(pl.col(name) < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    return pl.concat_str([sign, size // 1000, pl.lit("."), (size % 1000).cast(pl.String).str.zfill(3)]).alias(name)


def _us(time_ns: Integers, begin_ns: int) -> Integers:
    return (time_ns - begin_ns + 500) // 1000


def _stats(record: TrialRecord) -> Stats:
    """When the first flow began and the last ended, in UTC; where that is not known, the trial."""
    result = record.result
    counters, health = (result.counters, result.health) if result is not None else ({}, {})
    starts = [value for name, value in counters.items() if name.startswith("flow.") and name.endswith(".start_ns")]
    ends = [value for name, value in counters.items() if name.startswith("flow.") and name.endswith(".end_ns")]
    return Stats(
        start=_moment(min(starts)) if starts else record.started,
        end=_moment(max(ends)) if ends else record.ended,
        local_offset_ms=health.get("clock_offset.local_ms"),
        remote_offset_ms=health.get("clock_offset.remote_ms"),
    )


def _moment(time_ns: int) -> datetime:
    return datetime.fromtimestamp(time_ns / NS_PER_S, UTC)


def _name(campaign: CampaignRecord, test: str, flows: tuple[str, ...]) -> str:
    """Pantheon's name of a test, the one that it had where it was imported."""
    alone = len(set(flows)) == 1
    known = campaign.provenance.get(f"Scheme {test}" if alone else "Pantheon", {})
    return known.get(PANTHEONS_NAME if alone else f"test {test}", "_".join(map(pantheon_name, flows[:1] if alone else flows)))


def _metadata(campaign: CampaignRecord, plan: CongestionControlPlan, names: Mapping[str, str], first_run: int) -> dict[str, Any]:
    """The later layout. Several tests of mixed flows, which Pantheon cannot describe, stand under a key that it does not look at."""
    known = {name: text for name, text in campaign.provenance.get("Pantheon", {}).items() if name not in OWN_FACTS and " " not in name}
    mixed = {names[test]: [pantheon_name(flow) for flow in flows] for test, flows in plan.tests if len(set(flows)) > 1}
    return {
        "mode": "local",
        "uplink_trace": plan.path.words,
        "downlink_trace": plan.path.words,
        "git_summary": f"Rackproof {campaign.provenance.get('Rackproof', {}).get('version', '')}, campaign {campaign.id}: {campaign.name}",
        **known,
        "cc_schemes": list(names.values()),
        "run_times": plan.repetitions,
        "start_run_id": first_run,
        "runtime": _whole(plan.runtime_s),
        "flows": plan.flows if plan.schemes else max(len(flows) for _, flows in plan.tests),
        "interval": _whole(plan.flow_interval_s),
        **({MIXED: mixed} if mixed else {}),
    }


def _whole(value: float) -> float:
    return int(value) if value == int(value) else value


def _begin_ns(samples: Samples) -> int:
    """The first that happened, in whole microseconds."""
    return (int(samples.tx_ns.min()) if len(samples) else NS_PER_S) // 1000 * 1000


def _json(value: object) -> str:
    return json.dumps(value, indent=4, sort_keys=True, ensure_ascii=False, separators=(",", ": ")) + "\n"
