"""Which schemes there are, what their files may say, and how the algorithm in use is read."""

from pathlib import Path

import pytest

from rackproof.errors import NotFound
from testplans.congestion_control.schemes import verify
from testplans.congestion_control.schemes.registry import BrokenScheme, read, read_folder, scheme, schemes
from testplans.congestion_control.schemes.tools import BPF

#: The comparison of 2018, as its table prints them.
SEED = (
    *("TCP BBR", "TCP Cubic", "LEDBAT", "PCC", "QUIC Cubic", "SCReAM", "WebRTC media", "Sprout", "TaoVA-100x", "TCP Vegas", "Verus"),
    *("Copa", "FillP", "Indigo", "Vivace-latency", "Vivace-loss", "Vivace-LTE"),
)
GOOD = """\
id: tcp-x
label: TCP X
family: tcp
programs:
  - {name: iperf3, get: {debian: iperf3}}
algorithm: x
first: receiver
ready: {listens: tcp}
receiver: [iperf3, --server, --port, "{port}"]
sender: [iperf3, --client, "{peer}"]
verify: {ss: x}
"""


def broken(folder: Path, text: str, name: str = "tcp-x") -> str:
    path = folder / f"{name}.yaml"
    path.write_text(text)
    with pytest.raises(BrokenScheme) as caught:
        read_folder(folder)
    return str(caught.value).replace(str(folder), "")


def test_all_seventeen_are_there() -> None:
    labels = {each.label for each in schemes().values()}
    assert set(SEED) <= labels
    assert list(schemes()) == sorted(schemes())


def test_every_scheme_says_where_its_programs_are_to_be_had() -> None:
    for each in schemes().values():
        assert all(needed.get.how for needed in (*each.programs, *each.python_modules, *each.node_modules)), each.id
        if each.wrapper is None:
            assert each.sender is not None
            assert each.receiver is not None
            used = {command[0] for command in (each.sender, each.receiver, *each.prepare_sender, *each.prepare_receiver)}
            assert used <= {needed.name for needed in each.programs} | {"{python}"}, each.id


def test_placeholders_have_what_they_need() -> None:
    for each in schemes().values():
        said = " ".join(each.arguments)
        assert ("{algorithm}" in said) == (each.algorithm is not None), each.id
        assert ("{weights}" in said) == each.weights, each.id
        assert ("{trex}" in said) == each.trex, each.id
        if each.bpf is not None:
            assert (BPF / f"{each.bpf}.bpf.c").is_file()
            assert (BPF / f"{each.bpf}.bpf.o").is_file()


def test_kernel_algorithms_are_verified_by_name() -> None:
    for each in schemes().values():
        if each.algorithm is not None:
            assert each.family == "tcp"
            assert each.is_right(each.algorithm)
            assert not each.is_right("")
            assert not each.is_right("another")
    assert schemes()["vegas"].is_right("rpvegas1a2b00")


@pytest.mark.parametrize("algorithm", ["cubic", "newreno"])
def test_what_trex_says_of_itself_is_verified(algorithm: str) -> None:
    trex = scheme(f"trex-{algorithm}")
    assert trex.is_right(f"TRex v3.08 {algorithm}")
    assert not trex.is_right("")
    assert not trex.is_right("TRex v3.08 reno")


def test_a_good_file(tmp_path: Path) -> None:
    (tmp_path / "tcp-x.yaml").write_text(GOOD)
    assert list(read_folder(tmp_path)) == ["tcp-x"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("family: tcp", "family: sctp"), "line 3: family: expected 'tcp', 'quic', 'udp' or 'webrtc', found 'sctp'"),
        (("first: receiver\n", ""), "first: expected this key, found nothing"),
        (("family: tcp", "family: tcp\nwrapper: x"), "first: expected no first, because the wrapper knows, found one"),
        (("{peer}", "{host}"), "sender[2]: expected a placeholder (bind, peer, port, duration"),
        (("{peer}", "{peer"), "sender[2]: expected text with placeholders in braces, found '{peer'"),
        (("{ss: x}", "{ss: x, output: y}"), "verify: expected either ss or output, found both"),
        (("{ss: x}", "{ss: '('}"), "verify.ss: expected a regular expression, found '('"),
        (("{listens: tcp}", "{}"), "ready: expected either listens or after_s, found neither"),
        (("{debian: iperf3}", "{}"), "programs[0].get: expected debian, pypi, npm, crate or other, found none of them"),
        (("algorithm: x\n", "bpf: vegas\n"), "bpf: expected an algorithm that it stands in for, found no algorithm"),
        (("label: TCP X", "labell: TCP X"), "labell: expected label, found the unknown key labell"),
        (("id: tcp-x", "id: tcp-y"), "expected the id tcp-x, which the file's name gives, found tcp-y"),
        (("id: tcp-x", "id: TCP"), "id: expected"),
        (("id: tcp-x", "id: ["), "expected YAML"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, change: tuple[str, str], expected: str) -> None:
    text = GOOD.replace(*change)
    assert text != GOOD
    said = broken(tmp_path, text)
    assert said.startswith("/tcp-x.yaml")
    assert expected in said


def test_labels_differ(tmp_path: Path) -> None:
    (tmp_path / "tcp-x.yaml").write_text(GOOD)
    said = broken(tmp_path, GOOD.replace("id: tcp-x", "id: tcp-y"), "tcp-y")
    assert said == "/tcp-y.yaml: expected a label of its own, found TCP X, which tcp-x has"


def test_unknown_scheme_and_file(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"there is no scheme 'cubik'; there are: bbr, "):
        scheme("cubik")
    with pytest.raises(BrokenScheme, match="expected a file that can be read"):
        read(tmp_path / "none.yaml")


#: As `ss -tinHO` of iproute2 6.1 prints them: a control connection, a busy one of bbr, and one that is new.
SS = """\
0      0           10.82.1.1:38282      10.82.1.2:5201 bbr wscale:7,7 rto:201 rtt:0.035/0.02 mss:1448 bytes_sent:162 bytes_acked:163
0      4194304     10.82.1.1:38284      10.82.1.2:5201 ts sack ecn ecnseen cubic wscale:7,7 rto:241 bytes_sent:5000000 bytes_acked:4900000
0      0           10.82.1.1:38286      10.82.1.2:5201 ts sack reno wscale:7,7 rto:241 rtt:40/20
"""


def test_the_busiest_connection_tells_the_algorithm() -> None:
    found = verify.connections(SS)
    assert [(each.algorithm, each.sent_bytes) for each in found] == [("bbr", 163), ("cubic", 5_000_000), ("reno", 0)]
    assert (found[1].local, found[1].peer) == ("10.82.1.1:38284", "10.82.1.2:5201")
    assert verify.algorithm_in_use(SS) == "cubic"


@pytest.mark.parametrize(
    "output",
    ["", "Netid State\n", "0 0 10.82.1.1:1 10.82.1.2:2 ts sack reno wscale:7,7 rtt:1/2\n", "ss: unknown option\n", SS.splitlines()[0]],
)
def test_nothing_is_seen_where_nothing_was_sent_but_what_controls(output: str) -> None:
    assert verify.algorithm_in_use(output) == ""
