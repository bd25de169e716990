"""`make bench`: everything, on a quiet machine; writes build/benchmarks.json."""

import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

TARGET = Path("build/benchmarks.json")
#: Each in a process of its own: one does not warm up, or fill the memory, for another.
PARTS = (
    "engine",
    "path",
    "chain",
    "lsp",
    "labels",
    "analysis",
    "delay_statistics",
    "multihop",
    "lsr_defects",
    "congestion_control",
    "demo",
    "lab",
    "devices",
    "captures",
    "service",
    "service_api",
    "pages",
)


def main() -> None:
    """Run the parts that are named on the command line, or all."""
    rows = []
    for part in sys.argv[1:] or PARTS:
        print(f"== {part}", flush=True)
        done = subprocess.run([sys.executable, "-m", f"benchmarks.{part}"], stdout=subprocess.PIPE, text=True, check=True)
        for line in done.stdout.splitlines():
            row = json.loads(line)
            rows.append(row)
            met = {True: "met", False: "NOT MET", None: ""}[row.get("met")]
            print(f"{row['name']:44} {row['value']!s:>12} {row['unit']:8} {row['target']:32} {met}", flush=True)
    host = {"kernel": platform.release(), "processors": os.cpu_count(), "load_average": os.getloadavg()}
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(json.dumps({"at": datetime.now(UTC).isoformat(), "host": host, "rows": rows}, indent=1) + "\n")
    print(f"written to {TARGET}")


if __name__ == "__main__":
    main()
