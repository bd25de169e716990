"""The published comparison: its runs average to its table, through the function that reports use."""

import csv
from pathlib import Path

import pytest

import testplans.congestion_control.summary
from testplans.congestion_control.summary import average

PUBLISHED = Path(testplans.congestion_control.summary.__file__).parent / "published"
COLUMNS = ("throughput_mbps", "delay_p95_ms", "loss_percent")


def _rows(name: str) -> list[dict[str, str]]:
    with (PUBLISHED / name).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("row", _rows("pantheon_summary.csv"), ids=lambda row: row["scheme"])
def test_the_runs_average_to_the_table(row: dict[str, str]) -> None:
    runs = [run for run in _rows("pantheon_runs.csv") if run["scheme"] == row["scheme"]]
    assert len(runs) == 3
    for column in COLUMNS:
        mean = average(float(run[column]) if run[column] else None for run in runs)
        assert mean is not None
        assert f"{mean.value:.2f}" == row[column]
        assert (mean.n, mean.ignored) == (int(row["runs"]), 3 - int(row["runs"]))


def test_the_interval_is_students() -> None:
    mean = average([37.97, 40.10, None, 39.77])
    assert mean is not None
    assert mean.interval is not None
    # t(2) = 4.3027 and the standard error of the three is 0.6617.
    assert mean.interval.half_width == pytest.approx(4.3027 * 0.6617, rel=1e-3)
    assert mean.interval.method == "Student's t over 3 repetitions"


def test_no_run_has_statistics() -> None:
    assert average([None, None]) is None


def test_one_run_has_no_interval() -> None:
    mean = average([12.5, None])
    assert mean is not None
    assert (mean.value, mean.interval, mean.n, mean.ignored) == (12.5, None, 1, 1)
