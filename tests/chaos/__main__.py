"""`make chaos`: the long run; writes build/chaos.json and ends with 1 where anything that must hold did not."""

import argparse
import json
import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path

from tests.chaos.faults import FAULTS
from tests.chaos.harness import machine, run


def main() -> None:
    """Run as many points as asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**31), help="the same seed: the same harm, after the same delays")
    parser.add_argument("--bench-every", type=int, default=5, help="each so manieth point is in a real campaign on the bench; 0: none")
    parser.add_argument("--fault", action="append", choices=sorted(FAULTS), help="only this kind; may be repeated")
    parser.add_argument("--folder", type=Path, help="where the service keeps everything, to look at afterwards; must not exist")
    parser.add_argument("--out", type=Path, default=Path("build/chaos.json"))
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    outcome = run(asked.points, asked.seed, asked.folder, bench_every=asked.bench_every, faults=asked.fault or ())
    figures = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine(), **outcome.figures()}
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(figures, indent=1) + "\n")
    print(f"{len(outcome.points)} points, {len(outcome.violations)} violations; written to {asked.out}")
    sys.exit(bool(outcome.violations))


if __name__ == "__main__":
    main()
