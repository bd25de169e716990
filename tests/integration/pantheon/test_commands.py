"""`rackproof import pantheon` and `rackproof export pantheon`, as a person types them."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rackproof.cli.main import app
from testplans.congestion_control.opportunities import Opportunities
from testplans.congestion_control.pantheon.exporting import write_log
from tests.unit.congestion_control.packets import T0, packets, steady


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """One scheme, two runs, of which one has no log."""
    folder = tmp_path / "runs"
    folder.mkdir()
    write_log(folder / "bbr_datalink_run1.log", packets(steady(1, 0, 1000, 1)), Opportunities.none(), T0)
    metadata = {
        "cc_schemes": ["bbr"],
        "run_times": 2,
        "runtime": 1,
        "flows": 1,
        "interval": 0,
        "mode": "local",
        "uplink_trace": "12mbps.trace",
    }
    (folder / "pantheon_metadata.json").write_text(json.dumps(metadata))
    return folder


@pytest.fixture
def _here(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RACKPROOF_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("RACKPROOF_DATABASE_URL", database_url)


@pytest.mark.usefixtures("_here")
def test_there_and_back(directory: Path, tmp_path: Path) -> None:
    imported = CliRunner().invoke(app, ["import", "pantheon", str(directory)])
    assert imported.exit_code == 0, imported.output
    assert "TCP BBR" in imported.output
    assert "bbr, run 2: bbr_datalink_run2.log is not there" in imported.output
    assert "2 runs imported from" in imported.output
    out = tmp_path / "out"
    exported = CliRunner().invoke(app, ["export", "pantheon", "latest", str(out)])
    assert exported.exit_code == 0, exported.output
    assert "5 files written to" in exported.output
    assert sorted(path.name for path in out.iterdir()) == [
        "bbr_datalink_run1.log",
        "bbr_stats_run1.log",
        "bbr_stats_run2.log",
        "pantheon_metadata.json",
        "pantheon_perf.json",
    ]


@pytest.mark.usefixtures("_here")
def test_what_cannot_be_imported_is_bad_input(tmp_path: Path) -> None:
    refused = CliRunner().invoke(app, ["import", "pantheon", str(tmp_path / "nowhere")])
    assert refused.exit_code == 2
    assert "No such file or directory" in refused.output
