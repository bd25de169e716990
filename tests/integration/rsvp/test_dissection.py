"""Every kind of packet that the RSVP library encodes, read by Wireshark's dissector: it complains of nothing, and finds what was meant."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark (Debian package tshark)"),
    pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo"),
]

CRATE = Path(__file__).parents[3] / "native" / "rsvp"

ALERT = "Options: (4 bytes), Router Alert"
SESSION = ("Destination address: 198.51.100.9", "Tunnel ID: 7", "Extended Tunnel ID: 3221225985 (192.0.2.1)")
HOP = ("HOP: IPv4, 192.0.2.2", "Neighbor address: 192.0.2.2", "Logical interface: 168496141")
REFRESH = "Refresh interval: 30000 ms (30 seconds)"
BUCKET = (
    "Token bucket rate: 1.25e+06",
    "Token bucket size: 1500",
    "Peak data rate: inf",
    "Minimum policed unit [m]: 64",
    "Maximum packet size [M]: 1500",
)
SENDER = ("Sender IPv4 address: 192.0.2.1", "LSP ID: 11", "Service header: Traffic specification (1)", *BUCKET)
FLOWSPEC = ("Service header: Controlled Load (5)", *BUCKET)
FILTER = ("Sender IPv4 address: 192.0.2.1", "LSP ID: 11")
ATTRIBUTE = ("Setup priority: 7", "Hold priority: 5", "Flags: 0x06", "Name length: 11", "Name: stable-0007")
INTERFACE = ("Interface-Index TLV - 192.0.2.2, 513", "IPv4 address: 192.0.2.2", "Interface-ID: 513 (0x00000201)")
RECORD = (
    "IPv4 Subobject - 192.0.2.2, Local Protection Available",
    "Label Subobject - 299776, The label will be understood if received on any interface",
    "Router-ID: 192.0.2.2",
    "Interface-ID: 513",
)
ACKS = ("MESSAGE-ID ACK: 1", "Epoch: 1193046", "Message-ID: 1", "MESSAGE-ID NACK: 2", "Epoch: 1193046", "Message-ID: 2")
LIST = ("MESSAGE-ID LIST: 3 IDs", "Epoch: 1193046", "Message-ID: 1", "Message-ID: 2", "Message-ID: 3")
RESTART = ("Restart Time: 60000ms", "Recovery Time: 120000ms")
#: tshark 4.0 knows no CAPABILITY: it shows what is in it.
CAPABILITY = ("Object class: Unknown (134)", "Data: 00000003")
INSTANCES = ("Source Instance: 0x11223344", "Destination Instance: 0x55667788")

#: What is read in each packet, in this order; other lines may lie between.
MEANT = (
    (
        *(ALERT, "Message Type: PATH Message.  (1)", "Sending TTL: 64", "MESSAGE-ID: 1 (Ack Desired)", "Epoch: 1193046"),
        *(*SESSION, "Neighbor address: 192.0.2.1", "Logical interface: 168496141", REFRESH),
        *("IPv4 Subobject - 192.0.2.2, Strict", "IPv6 hop: 2001:db8::5", "Unnumbered Interface-ID - 192.0.2.2, 513, Strict"),
        *("Autonomous System: 64500", "IPv4 Subobject - 198.51.100.9, Loose", "L3PID: IPv4 (0x0800)", *ATTRIBUTE),
        *("FAST_REROUTE: Facility Backup", "Setup Priority: 7", "Hold Priority: 6", "Hop Limit: 16", "Bandwidth: 1.25e+06"),
        *("Include-Any: 0x00000001", "Exclude-Any: 0x00000002", "Include-All: 0x00000004", *SENDER),
        *("IS Hop Count: 1", "Path b/w estimate: 125000000", "Minimum path latency: 250", "Composed MTU: 1500"),
        *("Guaranteed Rate", "End-to-end composed value for C: 133", "Since-last-reshaping point composed D: 136"),
        *("Controlled Load", *RECORD),
    ),
    (
        *(ALERT, "Message Type: PATH Message.  (1)", *SESSION, "C-Type: IPv4  IF-ID (3)", "Logical interface: 9", *INTERFACE),
        *("Exclude-Any: 0x00000001", "Include-Any: 0x00000002", "Include-All: 0x00000004", *ATTRIBUTE),
        *("PLR ID 1: 192.0.2.2", "Avoid Node ID 1: 198.51.100.9", *SENDER),
    ),
    (
        *("Message Type: RESV Message.  (2)", *SESSION, *HOP, REFRESH, "Receiver address: 198.51.100.9"),
        *("STYLE: Fixed Filter (10)", *FLOWSPEC, *FILTER, "LABEL: 299776", *RECORD),
        *("Service header: Guaranteed Rate (2)", *BUCKET, "Rate: 2.5e+06", "Slack term: 100", "LSP ID: 12", "LABEL: 3"),
    ),
    (
        *("Message Type: RESV Message.  (2)", "STYLE: Shared-Explicit (18)", *FLOWSPEC, *FILTER),
        *("Generalized Label: 1001 (0x000003e9)", "LSP ID: 12", "Generalized Label: 1002 (0x000003ea)"),
    ),
    ("Message Type: PATH ERROR Message.  (3)", *SESSION, "Error node: 192.0.2.2", "Error code: Routing Error (24)", *SENDER),
    ("Message Type: PATH ERROR Message.  (3)", "Flags: 0x04 Path-State-Removed", "Error code: Routing Error (24)", *INTERFACE, *SENDER),
    ("Message Type: RESV ERROR Message.  (4)", *HOP, "Error code: Unknown reservation style (6)", *FLOWSPEC, *FILTER),
    (ALERT, "Message Type: PATH TEAR Message.  (5)", *SESSION, "Neighbor address: 192.0.2.1", *SENDER),
    ("Message Type: RESV TEAR Message.  (6)", *SESSION, *HOP, "STYLE: Shared-Explicit (18)", *FILTER, "LSP ID: 12"),
    (ALERT, "Message Type: CONFIRM Message.  (7)", *SESSION, "Receiver address: 198.51.100.9", *FLOWSPEC, *FILTER),
    ("Message Type: PATH TEAR Message.  (5)", *SESSION, *SENDER, "Message Type: ACK Message.  (13)", *ACKS, *LIST),
    ("Message Type: ACK Message.  (13)", *ACKS),
    ("Message Type: SREFRESH Message.  (15)", *LIST),
    ("Message Type: HELLO Message.  (20)", "C-Type: 1", *INSTANCES, *RESTART, *CAPABILITY),
    ("Message Type: HELLO Message.  (20)", "C-Type: 2", *INSTANCES, *RESTART, *CAPABILITY),
)


@pytest.fixture(scope="module")
def dissected(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """For each packet the lines that tshark writes about it."""
    pcap = tmp_path_factory.mktemp("rsvp") / "messages.pcap"
    run = ["cargo", "run", "--quiet", "--example", "messages", "pcap", str(pcap)]
    subprocess.run(run, cwd=CRATE, check=True, timeout=120)
    shown = subprocess.run(["tshark", "-n", "-r", str(pcap), "-V"], check=True, capture_output=True, text=True, timeout=60).stdout
    return [[line.strip() for line in packet.splitlines()] for packet in re.split(r"(?m)^Frame (?=\d+: )", shown)[1:]]


def test_dissector_complains_of_nothing(dissected: list[list[str]]) -> None:
    assert len(dissected) == len(MEANT)
    for lines in dissected:
        assert not [line for line in lines if re.search(r"Expert Info|[Mm]alformed|incorrect|Unknown message", line)]
        unknown = [line for line in lines if line.startswith("Object class: Unknown")]
        assert set(unknown) <= {CAPABILITY[0]}
        sums = [line.endswith("[correct]") for line in lines if line.startswith("Message Checksum")]
        bundle = any(line.startswith("Message Type: BUNDLE") for line in lines)
        assert sums == ([False, True, True, True] if bundle else [True])  # tshark does not check the sum of the bundle itself


@pytest.mark.parametrize("number", range(len(MEANT)))
def test_dissector_reads_what_was_meant(dissected: list[list[str]], number: int) -> None:
    lines = iter(dissected[number])
    for expected in MEANT[number]:
        assert expected in lines, f"{expected!r} is not shown, or not in this place"
