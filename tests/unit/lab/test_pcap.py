"""Captures as columns: what is in a file, however it is cut into pieces to be read, and which packets of two files are the same."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.lab import pcap
from orchestrator.lab.pairing import End, Paired, paired
from rackproof.errors import LabError
from rackproof.model.path import DROPPED, FORWARD, IN_FLIGHT
from rackproof.stats.matching import matches
from tests.lab.pcaps import capture

BEGIN_NS = 1_700_000_000_000_000_000
A, B = 0x0A520101, 0x0A520102
MS = 1_000_000


def columns(count: int, seed: int = 1) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        "at_ns": BEGIN_NS + np.cumsum(random.integers(1_000, 100_000, count)),
        "octets": np.where(random.random(count) < 0.6, 1500, random.integers(52, 300, count)),
        "identification": np.arange(count) % 65536,
        "number": np.arange(count) * 1448 % 2**32,
    }


def read(file: bytes) -> pcap.Seen:
    return pcap.read(np.frombuffer(file, np.uint8), "a file")


@pytest.mark.parametrize("stretch_bytes", [1 << 15, 700, 100])
@pytest.mark.parametrize("protocol", [6, 17])
def test_every_packet_is_found_whatever_pieces_the_file_is_walked_in(
    stretch_bytes: int, protocol: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pcap, "_STRETCH_BYTES", stretch_bytes)
    sent = columns(2000)
    seen = read(capture(**sent, source=A, destination=B, protocol=protocol))
    assert np.array_equal(seen.at_ns, sent["at_ns"])
    assert np.array_equal(seen.octets, sent["octets"])
    assert set(seen.source.tolist()) == {A}
    assert [set(column.tolist()) for column in seen.ports] == [{40000}, {5201}]
    assert len(set(seen.content.tolist())) == 2000
    assert seen.fragments == 0


def test_a_guess_that_was_wrong_is_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pcap, "_STRETCH_BYTES", 4000)
    monkeypatch.setattr(pcap, "_guesses", lambda file, edges: edges + 1)
    sent = columns(300)
    assert np.array_equal(read(capture(**sent, source=A, destination=B)).at_ns, sent["at_ns"])


def test_what_is_no_capture_or_is_cut_off_is_refused() -> None:
    file = capture(**columns(50), source=A, destination=B)
    with pytest.raises(LabError, match="a file: expected a capture in the format pcap, found an empty file"):
        read(b"")
    with pytest.raises(LabError, match="format pcap, found 0a0d0d0a"):
        read(b"\x0a\x0d\x0d\x0a" + bytes(40))
    with pytest.raises(LabError, match="found link type 113, 138 bytes"):
        read(file[:20] + b"\x71" + file[21:])
    with pytest.raises(LabError, match="cut off or damaged"):
        read(file[:-5])


def test_a_file_without_packets_has_none() -> None:
    assert len(read(capture(**columns(0), source=A, destination=B))) == 0


@pytest.mark.parametrize("protocol", [6, 17])
def test_routers_may_change_headers_and_cards_checksums_and_the_packet_is_the_same(protocol: int) -> None:
    sent = columns(200)
    one = np.frombuffer(capture(**sent, source=A, destination=B, protocol=protocol), np.uint8)
    other = one.copy()
    for record in pcap._places(one, "a file"):
        other[record + 31] = 3  # congestion experienced
        other[record + 38] = 60  # time to live
        other[[record + 40, record + 41]] = 7, 9  # checksum of IP
        at = record + 50 + (16 if protocol == 6 else 6)
        other[[at, at + 1]] = 11, 13
    assert np.array_equal(pcap.read(one, "one").content, pcap.read(other, "other").content)
    other[pcap._places(one, "a file")[7] + 50 + 12] ^= 1
    differs = pcap.read(one, "one").content != pcap.read(other, "other").content
    assert np.flatnonzero(differs).tolist() == [7]


def test_the_kth_of_equal_values_takes_the_kth() -> None:
    haystack, needles = np.array([5, 3, 5, 9, 5]), np.array([9, 5, 4, 5, 5, 5])
    assert matches(haystack, needles).tolist() == [3, 0, -1, 2, 4, -1]
    assert matches(np.array([], int), np.array([1])).tolist() == [-1]
    assert matches(np.array([1]), np.array([], int)).tolist() == []


# --- what became of them ---


def joined(arrived: np.ndarray[Any, Any], delay_ns: np.ndarray[Any, Any], *, end_ns: int, ports: range = range(5201, 5202)) -> Paired:
    """Thousand packets, a tenth of a second apart in all; arrived: which ones did."""
    sent = columns(1000)
    times = BEGIN_NS + np.arange(1000) * 100_000
    came = sent | {"at_ns": times + delay_ns}
    order = np.argsort(came["at_ns"], kind="stable")
    order = order[arrived[order]]
    one = read(capture(**sent | {"at_ns": times}, source=A, destination=B))
    other = read(capture(**{name: column[order] for name, column in came.items()}, source=A, destination=B))
    return paired(
        End(seen=one, at_ns=one.at_ns), End(seen=other, at_ns=other.at_ns), span_ns=(BEGIN_NS, end_ns), ports=ports, direction=FORWARD
    )


def test_each_packet_is_delivered_dropped_or_in_flight() -> None:
    arrived = np.ones(1000, np.bool_)
    arrived[[3, 500]] = False
    end_ns = BEGIN_NS + 100 * MS
    found = joined(arrived, np.full(1000, 20 * MS), end_ns=end_ns).samples
    assert np.flatnonzero(found.rx_ns == DROPPED).tolist() == [3, 500]
    assert np.flatnonzero(found.rx_ns == IN_FLIGHT).tolist() == list(range(801, 1000))
    delivered = found.rx_ns > 0
    assert set((found.rx_ns - found.tx_ns)[delivered].tolist()) == {20 * MS}
    assert set(found.stream.tolist()) == {1}


def test_the_last_that_never_arrived_are_in_flight_where_others_were_as_slow() -> None:
    arrived = np.ones(1000, np.bool_)
    arrived[700] = False
    arrived[850:] = False
    found = joined(arrived, np.full(1000, 20 * MS), end_ns=BEGIN_NS + 100 * MS).samples
    assert np.flatnonzero(found.rx_ns == DROPPED).tolist() == [700]
    assert np.flatnonzero(found.rx_ns == IN_FLIGHT).tolist() == list(range(801, 1000))


def test_reordering_is_no_loss() -> None:
    delay_ns = np.where(np.arange(1000) % 7 == 0, 25 * MS, 20 * MS)
    found = joined(np.ones(1000, np.bool_), delay_ns, end_ns=BEGIN_NS + 200 * MS).samples
    assert np.array_equal(found.rx_ns - found.tx_ns, delay_ns)


def test_only_what_left_within_the_span_counts_and_several_flows_go_by_their_ports() -> None:
    whole = np.ones(1000, np.bool_)
    found = joined(whole, np.full(1000, MS), end_ns=BEGIN_NS + 50 * MS)
    assert len(found.samples) == 501
    second = joined(whole, np.full(1000, MS), end_ns=BEGIN_NS + 50 * MS, ports=range(5200, 5203))
    assert set(second.samples.stream.tolist()) == {2}
    strange = joined(whole, np.full(1000, MS), end_ns=BEGIN_NS + 50 * MS, ports=range(6000, 6002))
    assert (len(strange.samples), strange.unassigned) == (0, 501)


def test_what_was_never_seen_to_leave_and_what_came_twice_are_told_apart(tmp_path: Path) -> None:
    sent, strange = columns(1000), columns(3, seed=5)
    times = BEGIN_NS + np.arange(1000) * 4 * MS
    one = read(capture(**sent | {"at_ns": times}, source=A, destination=B))
    late = BEGIN_NS + 2_000 * MS + np.arange(3)
    again = {name: column[[700, 701]] for name, column in sent.items()} | {"at_ns": np.array([BEGIN_NS + 3_900 * MS] * 2)}
    files = [
        capture(**sent | {"at_ns": times + MS}, source=A, destination=B),
        capture(**strange | {"at_ns": late, "number": np.array([1, 2, 3])}, source=A, destination=B)[24:],
        capture(**again, source=A, destination=B)[24:],
    ]
    other = read(b"".join(files))
    ends = [End(seen=each, at_ns=each.at_ns) for each in (one, other)]
    found = paired(*ends, span_ns=(BEGIN_NS, BEGIN_NS + 4_000 * MS), ports=range(1, 2), direction=FORWARD)
    assert (found.unpaired, found.duplicated) == (3, 2)
    assert (found.samples.rx_ns > 0).all()
