"""Does the otg driver say what the API's schema allows, understand its answers, and bound every call? No frame is sent here."""

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from orchestrator.generators import otg, registry
from orchestrator.generators.driver import Session
from orchestrator.generators.otg import run as otg_run
from orchestrator.generators.otg import server as otg_server
from orchestrator.interruption import Cause, Interruption
from rackproof.errors import GeneratorError, Stopped
from rackproof.model.inventory import GeneratorEntry
from rackproof.model.traffic import Arrivals
from tests.contract.generators.frames import PLAIN, stream, traffic
from tests.contract.generators.otg_schema import Answer, SchemaServer, schema_server
from tests.contract.generators.test_traffic import MPLS, VLAN

PORTS = ("a", "b")


@pytest.fixture
def server() -> Iterator[SchemaServer]:
    with schema_server() as server:
        yield server


def entry(server: SchemaServer, **options: str | float | bool) -> GeneratorEntry:
    return GeneratorEntry(name="otg-1", kind="otg", address=server.address, ports=PORTS, options=options)


def opened(
    server: SchemaServer, interruption: Interruption | None = None, *, take_over: bool = False, place: str = "a"
) -> AbstractContextManager[Session]:
    known = entry(server, **{"location.a": place})
    return registry.driver("otg").opened(known, PORTS, {}, interruption or Interruption(), take_over)


def counters(*steps: tuple[int, int]) -> Callable[[list[str]], list[Answer]]:
    """Each call's (sent, received) frames of every flow, the last for ever; a reading that is asked for with no names is empty."""
    told = itertools.chain(steps, itertools.repeat(steps[-1]))

    def metrics(names: list[str]) -> list[Answer]:
        if not names:
            return []
        sent, got = next(told)
        latency = {"minimum_ns": 1000.0, "average_ns": 2500.0, "maximum_ns": 9000.0}
        return [
            {
                "name": name,
                "transmit": "stopped" if (sent, got) == steps[-1] else "started",
                "frames_tx": sent,
                "frames_rx": got,
                "bytes_tx": sent * 600,
                "bytes_rx": got * 600,
                "latency": latency,
            }
            for name in names
        ]

    return metrics


def test_a_configuration_says_what_the_traffic_asks_for(server: SchemaServer) -> None:
    asked = traffic(
        stream(3, PORTS, rate_fps=1500.2, tags=VLAN + MPLS, sizes=((64, 1.0), (1518, 3.0))),
        stream(4, PORTS[::-1], tags=PLAIN + b"\x01\x02\x03", arrivals=Arrivals.FLAT_OUT),
    )
    with opened(server, place="192.0.2.1;1;3") as session:
        session.start(asked)
    assert server.config["ports"] == [{"name": "a", "location": "192.0.2.1;1;3"}, {"name": "b", "location": "b"}]
    tagged, plain, *learning = server.config["flows"]
    assert tagged["name"] == "stream-3"
    assert tagged["tx_rx"]["port"] == {"tx_name": "a", "rx_names": ["b"]}
    assert _values(tagged["packet"]) == [
        ("ethernet", {"dst": "02:52:50:00:00:b0", "src": "02:52:50:00:00:03", "ether_type": 0x8100}),
        ("vlan", {"priority": 5, "cfi": 0, "id": 7, "tpid": 0x8847}),
        ("mpls", {"label": 100, "traffic_class": 3, "bottom_of_stack": 0, "time_to_live": 64}),
        ("mpls", {"label": 2000, "traffic_class": 4, "bottom_of_stack": 1, "time_to_live": 63}),
    ]
    assert tagged["size"]["weight_pairs"]["custom"] == [{"size": 64, "weight": 1.0}, {"size": 1518, "weight": 3.0}]
    assert tagged["rate"] == {"choice": "pps", "pps": "1500"}
    assert tagged["duration"]["fixed_seconds"]["seconds"] == pytest.approx(asked.warmup_s + asked.duration_s)
    assert 0 < tagged["duration"]["fixed_seconds"]["delay"]["nanoseconds"] < 1e9 / 1500
    assert tagged["metrics"]["enable"]
    assert tagged["metrics"]["latency"] == {"enable": True, "mode": "cut_through"}
    assert plain["packet"][1]["custom"]["bytes"] == "010203"
    assert plain["rate"] == {"choice": "percentage", "percentage": 100.0}
    assert plain["size"] == {"choice": "fixed", "fixed": 512}
    assert [flow["duration"]["fixed_packets"]["packets"] for flow in learning] == [1, 1]
    assert _values(learning[0]["packet"])[0][1]["src"] == "02:52:50:00:00:b0"
    assert server.states == ["start", "stop"]
    assert server.asked[-1] == ("/config", {})


@pytest.fixture
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readings may take as long as they do on a busy machine."""
    monkeypatch.setattr(otg_run, "in_time", lambda readings, traffic: None)


@pytest.mark.usefixtures("_patient")
def test_counters_become_a_capture_without_anything_invented(server: SchemaServer) -> None:
    server.metrics = counters((100, 90), (200, 180), (300, 270), (398, 350), (400, 395))
    asked = traffic(stream(5, PORTS, rate_fps=1000), duration_s=0.3, warmup_s=0.1, batches=3)
    with opened(server) as session:
        assert not session.abilities().samples
        capture = session.start(asked).wait()
        assert [(port.name, port.link_up, port.speed_mbps) for port in session.ports()] == [("a", True, 1e4), ("b", True, 1e4)]
        assert session.facts()["generator"] == "server schema check of the Open Traffic Generator API"
    sent, tally = capture.sent[5], capture.tallies[5]
    assert sent.first_sequence.tolist() == [100, 200, 300, 400]
    assert (sent.frames, sent.intended_frames) == (300, 300)
    assert (sent.octets / 512).tolist() == [100, 200, 300, 400]
    assert tally.rx_frames.tolist() == [90, 90, 80]
    assert tally.rx_octets.tolist() == [90 * 512, 90 * 512, 80 * 512]
    assert tally.received == 300  # 395 - 90, of which 5 were under way when measuring began
    assert len(tally.delays_us) == len(tally.delay_frames) == len(capture.samples) == 0
    assert [capture.health[f"delay_us_{name}.5"] for name in ("min", "mean", "max")] == [1.0, 2.5, 9.0]
    assert len(capture.batch_starts_ns) == 4


@pytest.mark.usefixtures("_patient")
def test_octets_of_several_sizes_are_the_servers_or_none(server: SchemaServer) -> None:
    mixed = traffic(stream(0, PORTS, sizes=((64, 1.0), (1136, 1.0))), duration_s=0.1, warmup_s=0.0, batches=1)
    server.metrics = counters((0, 0), (100, 100))
    with opened(server) as session:
        assert session.start(mixed).wait().sent[0].octets.tolist() == [0, 60_000]
        told = counters((0, 0), (100, 100))
        server.metrics = lambda names: [{**flow, "bytes_tx": 0} for flow in told(names)]
        with pytest.raises(GeneratorError, match="stream 0: the generator counts no octets"):
            session.start(mixed).wait()


def test_what_the_api_does_not_know_is_refused_before_anything_is_sent(server: SchemaServer) -> None:
    with opened(server) as session:
        with pytest.raises(GeneratorError, match="stream 1: the Open Traffic Generator API knows no poisson arrivals"):
            session.start(traffic(stream(1, PORTS, arrivals=Arrivals.POISSON)))
        with pytest.raises(GeneratorError, match="whole frames per second"):
            session.start(traffic(stream(1, PORTS, rate_fps=0.2)))
        with pytest.raises(GeneratorError, match=r"does not allow what was asked for: Invalid 70000 format"):
            session.start(traffic(stream(1, PORTS, sizes=((64, 1.0), (70_000, 1.0)))))
        with pytest.raises(GeneratorError, match="c: not among the ports that were taken"):
            session.start(traffic(stream(1, ("a", "c"))))
    assert server.states == []


def test_the_servers_own_words_are_quoted(server: SchemaServer) -> None:
    with opened(server) as session:
        server.refusal = ("/config", 500, b'{"code": 500, "errors": ["port a: dataplane is away"]}')
        with pytest.raises(GeneratorError, match=r"otg-1 refused POST /config \(500\): port a: dataplane is away"):
            session.start(traffic(stream(0, PORTS)))
        server.refusal = ("/config", 502, b"<h1>Bad Gateway</h1>")
        with pytest.raises(GeneratorError, match=r"\(502\): <h1>Bad Gateway"):
            session.start(traffic(stream(0, PORTS)))
        server.refusal = ("/monitor/metrics", 200, b'{"choice": "flow_metrics", "flow_metrics": [{"name": 7}]}')
        with pytest.raises(GeneratorError, match="answered POST /monitor/metrics with what the API does not know"):
            session.ports()


def test_every_call_has_a_bound(server: SchemaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otg_server, "CALL_S", 0.3)
    server.delays_s = {"/capabilities/version": 60.0}
    begun = time.monotonic()
    with pytest.raises(GeneratorError, match=r"no answer to GET /capabilities/version within [0-9.]+ s"), opened(server):
        pass
    assert time.monotonic() - begun < 30.0


def test_a_server_that_is_not_there_is_told(server: SchemaServer) -> None:
    away = entry(server).model_copy(update={"address": "http://127.0.0.1:9"})
    with pytest.raises(GeneratorError, match=r"otg-1: GET http://127\.0\.0\.1:9/capabilities/version failed"):
        registry.driver("otg").opened(away, PORTS, {}, Interruption(), False).__enter__()


def test_counters_that_come_too_slowly_are_an_error_and_no_result(server: SchemaServer) -> None:
    server.metrics = counters((0, 0), (10, 10))
    with opened(server) as session:
        server.delays_s = {"/monitor/metrics": 0.2}
        with pytest.raises(GeneratorError, match=r"took [0-9.]+ s to tell its counters, and a batch lasts 0\.05 s"):
            session.start(traffic(stream(0, PORTS), duration_s=0.1, warmup_s=0.0, batches=2)).wait()


def test_who_sends_for_somebody_else_is_left_alone_unless_asked_for(server: SchemaServer) -> None:
    server.metrics = lambda names: [{"name": "nightly", "transmit": "started"}]
    with pytest.raises(GeneratorError, match=r"otg-1 is sending for somebody else \(nightly\)"), opened(server):
        pass
    assert [path for path, _ in server.asked] == ["/capabilities/version", "/monitor/metrics"]
    with opened(server, take_over=True):
        assert server.states == ["stop"]


def test_an_interruption_ends_the_wait_and_leaving_the_traffic(server: SchemaServer) -> None:
    interruption = Interruption()
    server.metrics = counters((0, 0), (1, 1))
    with pytest.raises(Stopped), opened(server, interruption) as session:
        run = session.start(traffic(stream(0, PORTS), duration_s=60.0))
        interruption.set(Cause.CANCEL, "enough")
        run.wait()
    assert server.states == ["start", "stop"]


def test_stop_ends_sending_and_wait_says_what_came_until_then(server: SchemaServer) -> None:
    server.metrics = counters((50, 50))
    with opened(server) as session:
        run = session.start(traffic(stream(0, PORTS), duration_s=60.0))
        run.stop()
        run.stop()
        capture = run.wait()
    assert server.states == ["start", "stop", "stop"]
    assert len(capture.batch_starts_ns) == 3
    assert capture.tallies[0].received == 0


def test_what_is_wrong_with_an_entry_is_found_without_reaching_for_anything() -> None:
    bad = GeneratorEntry(name="x", kind="otg", address="192.0.2.1", ports=("a",), options={"verify": "no", "fps": 0, "location.b": "1"})
    assert otg.objections(bad) == (
        "address: expected the server's address such as https://192.0.2.7:8443, found 192.0.2.1",
        "option location.b: there is no such option; there are: fps, location.a, verify",
        "option verify: expected true or false, found no",
        "option fps: expected a number above 0, found 0",
    )


def _values(packet: list[Answer]) -> list[tuple[str, dict[str, int | str]]]:
    return [
        (header["choice"], {name: field["value"] for name, field in header[header["choice"]].items()})
        for header in packet
        if header["choice"] != "custom"
    ]
