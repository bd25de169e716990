"""How fast are captures of two hosts read and paired? 2.5 million packets each, 1 Gbit/s for 30 s. Prints one JSON row per target."""

import json
import time
from typing import Any

import numpy as np

from orchestrator.lab import pcap
from orchestrator.lab.pairing import End, paired
from rackproof.model.path import DROPPED, FORWARD
from tests.lab.pcaps import capture

PACKETS = 2_500_000
SPAN_NS = 30_000_000_000
DELAY_NS = 20_000_000
LOSS = 0.01
START_NS = 1_700_000_000_000_000_000
SENDER, RECEIVER = 0x0A520101, 0x0A520102
READ_S, PAIR_S = 5.0, 3.0


def main() -> None:
    """Measure and print."""
    random = np.random.default_rng(1)
    columns: dict[str, Any] = {
        "at_ns": START_NS + np.sort(random.integers(0, SPAN_NS, PACKETS)),
        "octets": np.where(random.random(PACKETS) < 0.7, 1500, random.integers(52, 300, PACKETS)),
        "identification": np.arange(PACKETS) % 65536,
        "number": np.arange(PACKETS) * 1448 % 2**32,
    }
    kept = random.random(PACKETS) >= LOSS
    sent = _file(columns)
    received = _file({name: column[kept] + (DELAY_NS if name == "at_ns" else 0) for name, column in columns.items()})
    begun = time.monotonic()
    ends = [End(seen=seen, at_ns=seen.at_ns) for seen in (pcap.read(sent, "sender"), pcap.read(received, "receiver"))]
    read_s = time.monotonic() - begun
    begun = time.monotonic()
    found = paired(*ends, span_ns=(START_NS, START_NS + SPAN_NS + DELAY_NS), ports=range(1, 2), direction=FORWARD).samples
    pair_s = time.monotonic() - begun
    assert int((found.rx_ns == DROPPED).sum()) == int((~kept).sum())
    for name, value, target in (("captures.read.time", read_s, READ_S), ("captures.pair.time", pair_s, PAIR_S)):
        row = {"name": name, "value": round(value, 3), "unit": "s", "target": f"at most {target:g}", "met": value <= target}
        print(json.dumps(row), flush=True)


def _file(columns: dict[str, Any]) -> pcap.Bytes:
    return np.frombuffer(capture(**columns, source=SENDER, destination=RECEIVER), np.uint8)


if __name__ == "__main__":
    main()
