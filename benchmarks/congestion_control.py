"""How fast and how small is a comparison of congestion-control schemes, from Pantheon's logs to the report? Prints one JSON row per target.

The logs are made up, in Pantheon's form. What is measured are the commands that a person types, `rackproof import` and `rackproof report`,
from start to end, with a database that stands already. The peak of the memory is that of a command, all that it starts, and the database
together, each page counted once.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psutil

#: The set: 8.8 million lines, 188 MB.
SCHEMES, RUNS, RUNTIME_S, PACKETS = 17, 3, 30, 86_300
#: One run of 1 Gbit/s.
GIGABIT_PACKETS = 2_500_000
SET_S, SET_MB, IMPORT_S, GIGABIT_S, PDF_MB = 5.0, 400.0, 2.5, 2.0, 5.0
#: Three times the lines may take so many times as long, and so much more memory.
TIMES_MAX, GROWTH_MAX = 3.3, 1.2
PACKET_BYTES = 1500
BEGIN_MS = 1_516_268_644_000.125
_EVERY_S = 0.1

Row = dict[str, Any]
_COMMAND = [sys.executable, "-c", "from rackproof.cli.main import main; main()"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """What a command took."""

    wall_s: float
    peak_mb: float
    output: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; the exit code is 0 whatever was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generate", type=Path, help="only write the logs of the set into this folder")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.generate:
        generate(options.generate, SCHEMES, RUNS, PACKETS)
    elif options.read:
        read(options.read)
    else:
        for row in run():
            print(json.dumps(row), flush=True)
    return 0


def run() -> list[Row]:
    """All rows: name, value, unit, target, met."""
    from rackproof.settings import Settings
    from rackproof.store import Store

    with tempfile.TemporaryDirectory(prefix="rackproof-benchmark-") as name:
        folder = Path(name)
        whole, third, fast = (folder / each for each in ("whole", "third", "fast"))
        lines = generate(whole, SCHEMES, RUNS, PACKETS)
        generate(third, SCHEMES, 1, PACKETS)
        generate(fast, 1, 1, GIGABIT_PACKETS)
        with Store.open(Settings.load(data_dir=folder)) as store:
            environment = {**os.environ, "RACKPROOF_DATA_DIR": name, "RACKPROOF_DATABASE_URL": store.url}
            of_third = _measured([*_COMMAND, "import", "pantheon", str(third)], folder, environment)
            of_set = _measured([*_COMMAND, "import", "pantheon", str(whole)], folder, environment)
            report = _measured([*_COMMAND, "report", "latest", "--pdf", str(folder / "report.pdf")], folder, environment)
        gigabit = json.loads(_measured([sys.executable, __file__, "--read", str(fast)], folder, dict(os.environ)).output)["read_s"]
        pdf_mb = (folder / "report.pdf").stat().st_size / 1e6
    times, growth = of_set.wall_s / of_third.wall_s, of_set.peak_mb / of_third.peak_mb
    all_s, peak_mb = of_set.wall_s + report.wall_s, max(of_set.peak_mb, report.peak_mb)
    return [
        _row("congestion_control.import", of_set.wall_s, "s", f"at most {IMPORT_S:g}", of_set.wall_s <= IMPORT_S),
        _row("congestion_control.import.lines", lines / of_set.wall_s / 1e6, "M/s", "", None),
        _row("congestion_control.import.peak_memory", of_set.peak_mb, "MB", f"at most {SET_MB:g}", of_set.peak_mb <= SET_MB),
        _row("congestion_control.report", report.wall_s, "s", "", None),
        _row("congestion_control.report.peak_memory", report.peak_mb, "MB", f"at most {SET_MB:g}", report.peak_mb <= SET_MB),
        _row("congestion_control.all", all_s, "s", f"at most {SET_S:g}", all_s <= SET_S),
        _row("congestion_control.all.peak_memory", peak_mb, "MB", f"at most {SET_MB:g}", peak_mb <= SET_MB),
        _row("congestion_control.pdf", pdf_mb, "MB", f"under {PDF_MB:g}", pdf_mb < PDF_MB),
        _row("congestion_control.import.growth", times, "1", f"at most {TIMES_MAX:g} for 3 times the lines", times <= TIMES_MAX),
        _row("congestion_control.import.memory_growth", growth, "1", f"at most {GROWTH_MAX:g}", growth <= GROWTH_MAX),
        _row("congestion_control.gigabit_run", gigabit, "s", f"at most {GIGABIT_S:g}", gigabit <= GIGABIT_S),
    ]


def _row(name: str, value: float, unit: str, target: str, met: bool | None) -> Row:
    return {"name": name, "value": round(value, 3), "unit": unit, "target": target, "met": met}


def generate(folder: Path, schemes: int, runs: int, packets: int) -> int:
    """Write logs, statistics and metadata of so many runs; how many lines the logs have."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"scheme_{number}" for number in range(1, schemes + 1)]
    lines = 0
    for seed, (run_number, name) in enumerate((run_number, name) for run_number in range(1, runs + 1) for name in names):
        lines += _log(folder / f"{name}_datalink_run{run_number}.log", packets, seed)
        stats = "Start at: 2018-01-18 09:44:04\nEnd at: 2018-01-18 09:44:34\n"
        (folder / f"{name}_stats_run{run_number}.log").write_text(stats)
    metadata = {"cc_schemes": names, "run_times": runs, "runtime": RUNTIME_S, "flows": 1, "interval": 0, "mode": "remote"}
    (folder / "pantheon_metadata.json").write_text(json.dumps(metadata))
    return lines


def _log(path: Path, packets: int, seed: int) -> int:
    """A link that is nearly filled, in waves, with some random loss."""
    rng = np.random.default_rng(seed)
    came = np.sort(rng.uniform(0, RUNTIME_S * 1000, packets) + 400 * np.sin(np.linspace(0, 9, packets)))
    came = np.rint((came - came[0]) * 1000).astype(np.int64)
    kept = rng.random(packets) > 0.003
    service_us = RUNTIME_S * 1e6 / packets * 0.97
    place = np.arange(int(kept.sum())) * service_us
    left = np.rint(np.maximum.accumulate(came[kept] - place) + place + service_us + 20_000 + rng.uniform(0, 300, len(place))).astype(
        np.int64
    )
    arrivals = pl.DataFrame({"time": came}).with_columns(event=pl.lit("+"), delay=pl.lit(None, pl.Int64))
    departures = pl.DataFrame({"time": left, "delay": left - came[kept]}).with_columns(event=pl.lit("-"))
    lines = pl.concat([arrivals, departures], how="diagonal").sort("time", maintain_order=True)
    columns = [_ms("time"), pl.col("event"), pl.lit(str(PACKET_BYTES)), _ms("delay"), pl.lit("1")]
    with path.open("wb") as file:
        file.write(f"# init timestamp: {BEGIN_MS:.3f}\n".encode())
        text = lines.select(pl.concat_str(columns, separator=" ", ignore_nulls=True))
        text.write_csv(file, include_header=False, quote_style="never")
    return len(lines)


def _ms(name: str) -> pl.Expr:
    return pl.concat_str([pl.col(name) // 1000, pl.lit("."), (pl.col(name) % 1000).cast(pl.String).str.zfill(3)])


def _measured(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Ran:
    """Run a command to its end. Processes that work below the folder are the database's."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(environment))
    with _Memory(process.pid, folder) as memory:
        output, _ = process.communicate()
    wall_s = time.perf_counter() - began
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return Ran(wall_s=wall_s, peak_mb=memory.peak_bytes / 1e6, output=output)


class _Memory:
    """Watches the memory of a process, all that it started, and the database; pages that several share count once."""

    def __init__(self, pid: int, folder: Path) -> None:
        database = {each.pid for each in psutil.process_iter(["cwd"]) if (each.info["cwd"] or "").startswith(str(folder))}
        self._roots = {pid, *database}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.peak_bytes = 0

    def __enter__(self) -> "_Memory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(_EVERY_S):
            self.peak_bytes = max(self.peak_bytes, sum(map(_pss, self._tree())))

    def _tree(self) -> set[int]:
        """The processes and all that they started, the database's servers of this moment among them."""
        parents = {int(each.name): _parent(each) for each in Path("/proc").iterdir() if each.name.isdecimal()}
        found: set[int] = set()
        new = self._roots
        while new:
            found |= new
            new = {pid for pid, parent in parents.items() if parent in new} - found
        return found


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _pss(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def read(folder: Path) -> None:
    """Read and measure one run."""
    from rackproof.model.traffic import Capture
    from rackproof.model.trial import Observation
    from testplans.congestion_control.analysis import measure as measure_trial
    from testplans.congestion_control.pantheon.importing import samples_of
    from testplans.congestion_control.pantheon.logs import read_log
    from testplans.congestion_control.validity import Expectations

    began = time.perf_counter()
    samples = samples_of(read_log(next(folder.glob("*_datalink_*.log"))), None)
    capture = Capture(samples=samples, sent={}, batch_starts_ns=np.empty(0, np.int64))
    result = measure_trial(Observation(capture=capture), Expectations(runtime_s=RUNTIME_S))
    took_s = time.perf_counter() - began
    if result.reason or len(samples) != GIGABIT_PACKETS:
        raise SystemExit(f"the made-up run was not measured as it is: {len(samples)} packets, {result.reason or 'valid'}")
    print(json.dumps({"read_s": took_s}), flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
