"""Pantheon's logs: what their lines mean, and which are refused."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rackproof.errors import FileError
from rackproof.model.path import DROPPED, IN_FLIGHT
from testplans.congestion_control.opportunities import Opportunities
from testplans.congestion_control.pantheon import logs
from testplans.congestion_control.pantheon.exporting import write_log
from testplans.congestion_control.pantheon.logs import read_log
from tests.unit.congestion_control.packets import T0, Row, packets

HEAD = "# init timestamp: 1516268644000.125\n"
BEGIN_NS = 1_516_268_644_000_125_000
US = 1000


def _written(folder: Path, text: str) -> Path:
    path = folder / "cubic_datalink_run1.log"
    path.write_text(text)
    return path


def test_the_example_of_a_merged_log(tmp_path: Path) -> None:
    log = read_log(
        _written(
            tmp_path,
            HEAD + "12.000 # 1500\n3347.210 + 96 1\n3359.364 - 96 12.154 1\n3368.300 + 1500 1\n3380.311 - 1500 12.011 1\n",
        )
    )
    assert log.packets.ingress_ns.tolist() == [BEGIN_NS + 3_347_210 * US, BEGIN_NS + 3_368_300 * US]
    assert log.packets.egress_ns.tolist() == [BEGIN_NS + 3_359_364 * US, BEGIN_NS + 3_380_311 * US]
    assert log.packets.packet_bytes.tolist() == [96, 1500]
    assert log.packets.flow.tolist() == [1, 1]
    assert (log.opportunities.time_ns.tolist(), log.opportunities.octets.tolist()) == ([BEGIN_NS + 12_000 * US], [1500])
    assert (log.unpaired, log.negative, log.torn) == (0, 0, 0)


def test_flows_are_paired_apart(tmp_path: Path) -> None:
    text = "1.000 + 1500 1\n1.000 + 1500 2\n5.000 - 1500 4.000 2\n9.000 - 1500 8.000 1\n"
    log = read_log(_written(tmp_path, HEAD + text))
    assert dict(zip(log.packets.flow.tolist(), (log.packets.egress_ns - BEGIN_NS).tolist(), strict=True)) == {1: 9_000_000, 2: 5_000_000}


def test_rounded_times_are_paired(tmp_path: Path) -> None:
    """Arrival, departure and delay are rounded each for itself: their difference may be 1 us."""
    log = read_log(_written(tmp_path, HEAD + "1.000 + 1500 1\n3.001 - 1500 2.000 1\n4.000 + 1500 1\n5.999 - 1500 2.000 1\n"))
    assert (len(log.packets), log.unpaired) == (2, 0)
    assert (log.packets.egress_ns - log.packets.ingress_ns).tolist() == [2_001_000, 1_999_000]


def test_what_did_not_leave_was_dropped_or_is_in_flight(tmp_path: Path) -> None:
    text = "0.000 + 100 1\n1.000 + 200 1\n2.000 + 300 1\n10.000 - 100 10.000 1\n12.000 - 300 10.000 1\n13.000 + 400 1\n"
    log = read_log(_written(tmp_path, HEAD + text))
    assert [fate if fate <= 0 else 1 for fate in log.packets.egress_ns.tolist()] == [1, DROPPED, 1, IN_FLIGHT]


def test_what_waits_longer_than_any_other_was_dropped(tmp_path: Path) -> None:
    text = "0.000 + 100 1\n10.000 - 100 10.000 1\n11.000 + 200 1\n50.000 + 300 1\n"
    log = read_log(_written(tmp_path, HEAD + text))
    assert log.packets.egress_ns.tolist()[1:] == [DROPPED, IN_FLIGHT]


def test_a_flow_of_which_nothing_left_was_dropped(tmp_path: Path) -> None:
    log = read_log(_written(tmp_path, HEAD + "0.000 + 100 1\n1.000 + 100 2\n9.000 - 100 9.000 1\n"))
    assert log.packets.egress_ns.tolist()[1] == DROPPED


def test_a_departure_without_an_arrival_is_kept(tmp_path: Path) -> None:
    log = read_log(_written(tmp_path, HEAD + "5.000 + 100 1\n8.000 - 999 6.000 1\n9.000 - 100 4.000 1\n"))
    assert (log.unpaired, len(log.packets)) == (1, 2)
    assert (log.packets.ingress_ns - BEGIN_NS).tolist() == [2_000_000, 5_000_000]
    assert log.packets.packet_bytes.tolist() == [999, 100]


def test_negative_delays_are_counted(tmp_path: Path) -> None:
    log = read_log(_written(tmp_path, HEAD + "3.500 - 100 -1.500 1\n5.000 + 100 1\n"))
    assert (log.negative, log.unpaired) == (1, 0)
    assert (log.packets.egress_ns - log.packets.ingress_ns).tolist() == [-1_500_000]
    assert log.packets.delivered.all()


@pytest.mark.parametrize("torn", ["20.000 + 15", "20.000 - 1500 12.0", "20.0", "20.000 ", "20.000 # 15", "2"])
def test_an_unfinished_last_line_is_left_out(tmp_path: Path, torn: str) -> None:
    whole = HEAD + "1.000 + 1500 1\n13.000 - 1500 12.000 1\n"
    log = read_log(_written(tmp_path, whole + torn))
    assert (log.torn, len(log.packets), len(log.opportunities)) == (1, 1, 0)


def test_a_whole_last_line_needs_no_newline(tmp_path: Path) -> None:
    log = read_log(_written(tmp_path, HEAD + "1.000 + 1500 1\n13.000 - 1500 12.000 1"))
    assert (log.torn, log.packets.delivered.tolist()) == (0, [True])


@pytest.mark.parametrize("text", ["", HEAD, "# nothing\n# else"])
def test_an_empty_log(tmp_path: Path, text: str) -> None:
    log = read_log(_written(tmp_path, text))
    assert (len(log.packets), len(log.opportunities)) == (0, 0)


def test_mahimahis_own_log(tmp_path: Path) -> None:
    text = "# mahimahi mm-link (uplink) [trace] > log\n# queue: droptail\n# init timestamp: 1516268644000\n# base timestamp: 100\n"
    text += "120 + 1504\n120 + 1504\n121 # 1504\n121 - 1504 1\n122 d 1 1504\n130 # 1504\n130 - 1504 10\n"
    log = read_log(_written(tmp_path, text))
    begin_ns = 1_516_268_644_000_000_000
    assert (log.packets.ingress_ns - begin_ns).tolist() == [120_000_000, 120_000_000]
    assert sorted((log.packets.egress_ns - begin_ns).tolist()) == [121_000_000, 130_000_000]
    assert log.packets.flow.tolist() == [1, 1]
    assert log.opportunities.capacity_bps == pytest.approx(2 * 1504 * 8 / 0.009)


def test_a_log_without_the_time_of_day(tmp_path: Path) -> None:
    log = read_log(_written(tmp_path, "# base timestamp: 3\n5 + 1504\n9 - 1504 4\n"))
    assert log.packets.ingress_ns.tolist() == [1_005_000_000]
    assert log.packets.delivered.tolist() == [True]


@pytest.mark.parametrize(
    "bad",
    [
        "12.000 + 1500",
        "12.000 + 1500 1 9 9 9",
        "12.000 ? 1500 1",
        "twelve + 1500 1",
        "12.000 + many 1",
        "12.000 - 1500 1",
        "12.000 + 70000 1",
        "12.000 + 1500 1.5",
        "nan + 1500 1",
        "12.000 - 1500 inf 1",
        "",
        "12.000  + 1500 1",
    ],
)
def test_a_wrong_line_in_the_middle_is_named(tmp_path: Path, bad: str) -> None:
    path = _written(tmp_path, HEAD + "1.000 + 1500 1\n" + bad + "\n13.000 - 1500 12.000 1\n")
    with pytest.raises(FileError) as refused:
        read_log(path)
    assert str(refused.value).startswith(f"{path}: line 3: log: expected TIME + SIZE FLOW")
    assert f"found {bad!r}" in str(refused.value)


def test_lines_of_both_forms_are_refused(tmp_path: Path) -> None:
    path = _written(tmp_path, "1 + 1500\n2 + 1500 1\n")
    with pytest.raises(FileError, match=r"line 2: log: expected TIME \+ SIZE, .*as the lines before it, found '2 \+ 1500 1'"):
        read_log(path)


def test_pieces_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{at}.000 + 1500 1\n{at}.500 - 1500 0.500 1\n" for at in range(1000)]
    path = _written(tmp_path, HEAD + "".join(lines))
    whole = read_log(path)
    monkeypatch.setattr(logs, "_PIECE_BYTES", 100)
    in_pieces = read_log(path)
    assert len(whole.packets) == 1000
    for name in ("ingress_ns", "egress_ns", "flow", "packet_bytes"):
        assert np.array_equal(getattr(whole.packets, name), getattr(in_pieces.packets, name))


_FATE = st.one_of(st.integers(-50, 5000), st.sampled_from([None, "dropped"]))
_PACKET = st.tuples(st.integers(100, 3000), _FATE, st.integers(1, 3), st.sampled_from([40, 1500]))


@settings(max_examples=30)
@given(drawn=st.lists(_PACKET, max_size=60), opportunities=st.lists(st.integers(0, 3000), max_size=5))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[int, object, int, int]], opportunities: list[int]
) -> None:
    rows: list[Row] = [
        (came / 1e3, (came + fate) / 1e3 if isinstance(fate, int) else DROPPED if fate else IN_FLIGHT, flow, octets)
        for came, fate, flow, octets in drawn
    ]
    of = packets([row for row in rows if row[1] > 0 or row[1] in (DROPPED, IN_FLIGHT)])
    chances = Opportunities(
        time_ns=T0 + np.array(sorted(opportunities), np.int64) * US, octets=np.full(len(opportunities), 1500, np.uint16)
    )
    path = tmp_path_factory.mktemp("log") / "x.log"
    write_log(path, of, chances, T0)
    log = read_log(path)
    assert _sorted(log.packets) == _sorted(of)
    assert log.opportunities.time_ns.tolist() == chances.time_ns.tolist()
    assert (log.unpaired, log.torn) == (0, 0)


def _sorted(of: object) -> list[tuple[int, ...]]:
    columns = (getattr(of, name).tolist() for name in ("ingress_ns", "egress_ns", "flow", "packet_bytes"))
    return sorted(zip(*columns, strict=True))
