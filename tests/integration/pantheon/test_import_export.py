"""Directories of Pantheon's files become campaigns, and campaigns such directories, with the same numbers."""

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from rackproof.errors import Conflict, FileError
from rackproof.model.campaign import CampaignRecord, CampaignState
from rackproof.model.path import BACKWARD, DROPPED, FORWARD, IN_FLIGHT, Packets
from rackproof.model.verdict import Verdict
from rackproof.store import Store
from testplans.congestion_control.opportunities import Opportunities
from testplans.congestion_control.pantheon.exporting import export_campaign, write_log
from testplans.congestion_control.pantheon.importing import import_directory
from tests.unit.congestion_control.packets import MS, T0, Row, packets

STATS = "Start at: 2018-01-18 09:59:34\nEnd at: 2018-01-18 10:00:04\nLocal clock offset: 2.34 ms\nRemote clock offset: -1.52 ms\n"
#: January 2018: default_tcp is the host's own TCP.
METADATA = {
    "cc_schemes": ["default_tcp", "bbr"],
    "flows": 2,
    "git_summary": "branch: master @ 54510ce",
    "interval": 1,
    "local_desc": "AWS California 1 Ethernet",
    "mode": "remote",
    "ntp_addr": "time.stanford.edu",
    "random_order": True,
    "remote_desc": "Stanford",
    "remote_if": "ppp0",
    "run_times": 3,
    "runtime": 4,
    "sender_side": "local",
}


def _run(seed: int, flows: int = 2) -> Packets:
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for flow in range(1, flows + 1):
        for came in np.sort(rng.uniform((flow - 1) * 1000, 4000, 800)).round(3):
            fate = rng.random()
            left = DROPPED if fate < 0.02 else IN_FLIGHT if came > 3990 else round(float(came) + rng.uniform(20, 60), 3)
            rows.append((float(came), left, flow, int(rng.choice([96, 1500]))))
    return packets(rows)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Two schemes, three runs, two flows; one log is missing, one is torn, one has a wrong line, and one is too short."""
    folder = tmp_path / "2018-01-18-AWS-to-Stanford"
    folder.mkdir()
    chances = Opportunities(time_ns=T0 + np.arange(0, 4000, 2) * MS, octets=np.full(2000, 1500, np.uint16))
    for seed, (name, run) in enumerate((name, run) for name in ("default_tcp", "bbr") for run in (1, 2, 3)):
        write_log(folder / f"{name}_datalink_run{run}.log", _run(seed), chances, T0)
        write_log(folder / f"{name}_acklink_run{run}.log", _run(seed + 50), Opportunities.none(), T0)
        (folder / f"{name}_stats_run{run}.log").write_text(STATS)
    (folder / "default_tcp_datalink_run1.log").unlink()
    whole = folder / "default_tcp_datalink_run2.log"
    whole.write_bytes(whole.read_bytes() + b"5000.000 + 15")
    lines = (folder / "bbr_datalink_run2.log").read_bytes().splitlines(keepends=True)
    (folder / "bbr_datalink_run2.log").write_bytes(b"".join([*lines[:9], b"9.000 + what 1\n", *lines[9:]]))
    (folder / "bbr_datalink_run3.log").write_bytes(b"".join(lines[:2000]))
    (folder / "pantheon_metadata.json").write_text(json.dumps(METADATA))
    return folder


def test_a_directory_becomes_a_campaign(directory: Path, store: Store) -> None:
    record = store.campaign(import_directory(directory, store))
    assert (record.kind, record.testbed, record.state) == ("congestion-control", "imported", CampaignState.DONE)
    assert record.plan["schemes"] == ["cubic", "bbr"]
    assert (record.plan["repetitions"], record.plan["flows"], record.plan["runtime_s"], record.plan["flow_interval_s"]) == (3, 2, 4, 1)
    assert record.plan["path"]["forward"]["elsewhere"] == "AWS California 1 Ethernet (local) to Stanford ppp0 (remote)"
    assert record.provenance["Pantheon"]["git_summary"] == "branch: master @ 54510ce"
    assert record.provenance["Scheme cubic"] == {"label": "TCP Cubic", "Pantheon's name": "default_tcp"}
    assert record.started == datetime(2018, 1, 18, 9, 59, 34, tzinfo=UTC)
    assert record.ended == datetime(2018, 1, 18, 10, 0, 4, tzinfo=UTC)
    assert len(record.trials) == 6
    verdicts = {(trial.trial.point["scheme"], trial.trial.repetition): trial.result and trial.result.verdict for trial in record.trials}
    assert verdicts == {
        ("cubic", 1): Verdict.ERROR,
        ("cubic", 2): Verdict.PASS,
        ("cubic", 3): Verdict.PASS,
        ("bbr", 1): Verdict.PASS,
        ("bbr", 2): Verdict.ERROR,
        ("bbr", 3): Verdict.INVALID,
    }


def test_every_run_that_failed_says_why(directory: Path, store: Store) -> None:
    record = store.campaign(import_directory(directory, store))
    reasons = {trial.trial.label: trial.result.reason for trial in record.trials if trial.result is not None and trial.result.reason}
    assert reasons["cubic, run 1"] == "default_tcp_datalink_run1.log is not there: the run failed, or its log was not kept"
    assert "bbr_datalink_run2.log: line 10: log: expected TIME + SIZE FLOW" in reasons["bbr, run 2"]
    assert reasons["bbr, run 3"].endswith("of a runtime of 4 s (needed: 3.20 s)")
    (torn,) = [trial.result for trial in record.trials if trial.trial.label == "cubic, run 2"]
    assert torn is not None
    assert torn.health == {"clock_offset.local_ms": 2.34, "clock_offset.remote_ms": -1.52, "torn_lines": 1}


def test_samples_hold_both_directions(directory: Path, store: Store) -> None:
    record = store.campaign(import_directory(directory, store))
    (run,) = [trial for trial in record.trials if trial.trial.label == "bbr, run 1"]
    assert run.samples is not None
    samples = store.read_samples(run.samples)
    there, back = Packets.of(samples, FORWARD), Packets.of(samples, BACKWARD)
    assert (len(there), len(back), len(Opportunities.of(samples, FORWARD))) == (1600, 1600, 2000)
    assert np.array_equal(there.egress_ns, _run(3).egress_ns)
    assert np.array_equal(back.ingress_ns, _run(53).ingress_ns)


def test_import_of_an_export_gives_the_same_numbers(directory: Path, store: Store, tmp_path: Path) -> None:
    first = store.campaign(import_directory(directory, store))
    export_campaign(first, store, tmp_path / "exported")
    second = store.campaign(import_directory(tmp_path / "exported", store))
    assert _numbers(second) == _numbers(first)
    assert any(name == "loss" and value > 0 for (_, name, _), value in _numbers(first).items())
    assert {key: value for key, value in second.plan.items() if key not in ("name", "description", "path")} == {
        key: value for key, value in first.plan.items() if key not in ("name", "description", "path")
    }
    assert second.plan["path"] == first.plan["path"]
    assert [trial.started for trial in second.trials] == [trial.started for trial in first.trials]


def _numbers(record: CampaignRecord) -> dict[tuple[str, str, str], float]:
    return {
        (trial.trial.label, each.name, each.subject["flow"]): each.value
        for trial in record.trials
        if trial.result is not None
        for each in trial.result.measurements
    }


def test_an_export_has_pantheons_names_and_table(directory: Path, store: Store, tmp_path: Path) -> None:
    record = store.campaign(import_directory(directory, store))
    out = tmp_path / "exported"
    written = export_campaign(record, store, out)
    assert written == len(list(out.iterdir()))
    assert (out / "default_tcp_stats_run1.log").read_text() == STATS
    assert not (out / "default_tcp_datalink_run1.log").exists()
    table = json.loads((out / "pantheon_perf.json").read_text())
    assert set(table) == {"default_tcp", "bbr"}
    assert table["default_tcp"]["1"] is None
    assert set(table["bbr"]["1"]) == {"all", "1", "2"}
    numbers = _numbers(record)
    assert table["bbr"]["1"]["all"] == {
        "tput": numbers["bbr, run 1", "throughput", "all"],
        "delay": numbers["bbr, run 1", "delay.p95", "all"],
        "loss": numbers["bbr, run 1", "loss.pantheon", "all"],
    }
    metadata = json.loads((out / "pantheon_metadata.json").read_text())
    assert {
        key: metadata[key] for key in ("cc_schemes", "run_times", "runtime", "flows", "interval", "mode", "git_summary", "remote_if")
    } == {key: METADATA[key] for key in ("cc_schemes", "run_times", "runtime", "flows", "interval", "mode", "git_summary", "remote_if")}


def test_a_directory_is_not_exported_over_another(directory: Path, store: Store) -> None:
    record = store.campaign(import_directory(directory, store))
    with pytest.raises(FileError, match="expected one without Pantheon's files"):
        export_campaign(record, store, directory)


def test_other_kinds_are_not_exported(store: Store, tmp_path: Path) -> None:
    record = store.campaign(
        store.create_campaign(name="x", kind="switch-qos", testbed="bench", plan={}, plan_text="", plan_sha256="", trials=[])
    )
    with pytest.raises(Conflict, match="is of the kind switch-qos"):
        export_campaign(record, store, tmp_path / "out")


def test_without_metadata_the_files_tell(directory: Path, store: Store) -> None:
    (directory / "pantheon_metadata.json").unlink()
    record = store.campaign(import_directory(directory, store))
    assert record.plan["schemes"] == ["bbr", "cubic"]
    assert (record.plan["repetitions"], record.plan["flows"], record.plan["runtime_s"]) == (3, 2, 30)


def test_mixed_flows_have_a_scheme_each(tmp_path: Path, store: Store) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    write_log(folder / "friendly_datalink_run1.log", _run(1), Opportunities.none(), T0)
    config = {"test-name": "friendly", "flows": [{"scheme": "cubic"}, {"scheme": "bbr"}]}
    metadata = {"mode": "local", "flows": 2, "run_times": 1, "runtime": 4, "interval": 0, "test_config": config}
    (folder / "pantheon_metadata.json").write_text(json.dumps(metadata))
    record = store.campaign(import_directory(folder, store))
    (run,) = record.trials
    assert run.trial.point == {"scheme": "cubic+bbr", "flow.1": "cubic", "flow.2": "bbr"}
    assert run.result is not None
    assert run.result.verdict is Verdict.PASS
    export_campaign(record, store, tmp_path / "out")
    again = store.campaign(import_directory(tmp_path / "out", store))
    assert (_numbers(again), again.plan["mixes"]) == (_numbers(record), [["cubic", "bbr"]])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "line 1: file: expected JSON"),
        ("[]", "file: expected an object, found []"),
        ('{"cc_schemes": [], "run_times": 1, "runtime": 30}', "cc_schemes: expected names of schemes, found []"),
        ('{"cc_schemes": ["../x"], "run_times": 1, "runtime": 30}', "cc_schemes: expected a name that files can have, found '../x'"),
        ('{"cc_schemes": ["bbr"], "runtime": 30}', "run_times: expected a whole number of at least 1, found nothing"),
        ('{"cc_schemes": ["bbr"], "run_times": 1, "runtime": "long"}', "runtime: expected at least 1 seconds, found 'long'"),
    ],
)
def test_metadata_that_cannot_be_used_is_refused_and_nothing_is_stored(text: str, why: str, tmp_path: Path, store: Store) -> None:
    (tmp_path / "pantheon_metadata.json").write_text(text)
    with pytest.raises(FileError) as refused:
        import_directory(tmp_path, store)
    assert why in str(refused.value)
    assert store.campaigns() == []


def test_a_directory_without_anything_of_pantheon_is_refused(tmp_path: Path, store: Store) -> None:
    with pytest.raises(FileError, match=r"expected pantheon_metadata\.json, or logs such as"):
        import_directory(tmp_path, store)
    with pytest.raises(FileError, match="No such file or directory"):
        import_directory(tmp_path / "nowhere", store)
