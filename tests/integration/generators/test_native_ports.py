"""Are real ports checked before they are used, and given back exactly as they were?"""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from orchestrator.bench.namespaces import Namespace
from orchestrator.generators import native
from orchestrator.generators.native import ethtool
from orchestrator.generators.native.interfaces import LOCKS, TakenPort, namespace_number
from orchestrator.generators.native.session import NativeSession, is_here
from orchestrator.interruption import Interruption
from rackproof.errors import BenchError, GeneratorError
from rackproof.model.inventory import GeneratorEntry
from tests.contract.generators.frames import PLAIN as PLAIN_TYPE
from tests.contract.generators.frames import asked_for, stream, traffic
from tests.lab.cables import until_running
from tests.waiting import SOON_S, until

pytestmark = pytest.mark.netns

FEATURES = ("rx-gro", "rx-vlan-hw-parse")


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    """A namespace with a veth pair whose offloads are on."""
    try:
        namespace = Namespace("ports")
    except BenchError as error:
        pytest.skip(f"needs root: {error}")
    with namespace:
        namespace.route.link("add", ifname="p0", kind="veth", peer={"ifname": "p1"})
        for name in ("p0", "p1"):
            namespace.route.link("set", ifname=name, state="up")
            namespace.run(partial(ethtool.set_features, name, dict.fromkeys(FEATURES, True)))
        until_running(namespace, "p0", "p1")
        yield namespace


def entry(namespace: Namespace, address: str = "") -> GeneratorEntry:
    options = {"namespace": f"/proc/{os.getpid()}/fd/{namespace.fd}"}
    return GeneratorEntry(name="here", kind="native", address=address, ports=("p0", "p1"), options=options)


def opened(namespace: Namespace, *ports: str, address: str = "") -> NativeSession:
    return NativeSession(entry(namespace, address), ports or ("p0", "p1"), Interruption(), take_over=False)


def lock(namespace: Namespace, port: str) -> Path:
    return LOCKS / f"rackproof-port-{namespace.run(namespace_number)}-{port}"


def state(namespace: Namespace) -> dict[str, tuple[dict[str, bool], int]]:
    """Features and the number of those who want promiscuous mode, by port."""
    found = {}
    for name in ("p0", "p1"):
        (link,) = namespace.route.get_links(ifname=name)
        found[name] = (namespace.run(partial(ethtool.features, name, FEATURES)), link.get_attr("IFLA_PROMISCUITY"))
    return found


ON, PLAIN = (dict.fromkeys(FEATURES, True), 0), (dict.fromkeys(FEATURES, False), 1)


def test_settings_are_plain_while_it_has_the_ports_and_as_they_were_afterwards(namespace: Namespace) -> None:
    assert state(namespace) == {"p0": ON, "p1": ON}
    with opened(namespace) as session:
        assert state(namespace) == {"p0": PLAIN, "p1": PLAIN}
        assert {port.speed_mbps for port in session.ports()} == {10_000.0}
        assert "veth" in session.facts()["port p0"]
    assert state(namespace) == {"p0": ON, "p1": ON}
    assert not lock(namespace, "p0").exists()
    assert not lock(namespace, "p1").exists()


def test_whoever_comes_while_a_port_is_being_taken_is_told_by_whom(namespace: Namespace) -> None:
    taken = lock(namespace, "p0")
    with taken.open("w") as file, ThreadPoolExecutor() as pool:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            came = pool.submit(namespace.run, lambda: TakenPort("p0", take_over=False))
            with pytest.raises(TimeoutError):
                came.result(0.5)
            file.write('{"pid": 1, "owner": "process 1 of user ada"}')
            file.flush()
            with pytest.raises(GeneratorError, match="p0: process 1 of user ada has the port"):
                came.result(SOON_S)
        finally:
            taken.unlink()


def test_what_a_killed_process_changed_is_given_back_by_the_next(namespace: Namespace) -> None:
    with opened(namespace) as session:
        assert session.pid is not None
        os.kill(session.pid, signal.SIGKILL)
        with pytest.raises(GeneratorError, match=r"process of generator here ended unexpectedly \(exit status -9\)"):
            session.ports()
    assert state(namespace)["p0"] == (PLAIN[0], 0)
    with opened(namespace):
        pass
    assert state(namespace) == {"p0": ON, "p1": ON}


def test_of_two_ports_none_stays_taken_where_one_cannot_be(namespace: Namespace) -> None:
    with pytest.raises(GeneratorError, match="nosuch: there is no such interface on this host; there are: lo, p1, p0"):
        opened(namespace, "p0", "nosuch").__enter__()
    namespace.route.link("set", ifname="p1", state="down")
    with pytest.raises(GeneratorError, match="p1: the interface is down; `ip link set p1 up`"):
        opened(namespace).__enter__()
    assert state(namespace)["p0"] == ON
    with opened(namespace, "p0") as session:
        until(lambda: [port.link_up for port in session.ports()] == [False])


def test_frames_that_no_port_takes_are_refused_with_what_to_do(namespace: Namespace) -> None:
    with opened(namespace) as session:
        tagged = b"\x81\x00\x00\x05" + PLAIN_TYPE
        fits = traffic(stream(0, ("p0", "p1"), tags=tagged, sizes=((1522, 1.0),)), duration_s=0.1, warmup_s=0.0)
        capture = session.start(fits).wait()
        assert capture.sent[0].frames == asked_for(100, capture, rel=0.01)
        with pytest.raises(
            GeneratorError, match=r"p0: frames of 1526 bytes \(stream 3\) need an MTU of 1508, and it has 1500: `ip link set p0"
        ):
            session.start(traffic(stream(3, ("p0", "p1"), sizes=((64, 1.0), (1526, 1.0)))))


def test_ports_of_another_host_are_refused_with_what_to_do(namespace: Namespace) -> None:
    with pytest.raises(GeneratorError, match=r"192\.0\.2\.1 is not an address of this host .* start a worker there"):
        opened(namespace, address="192.0.2.1").__enter__()
    assert is_here("")
    assert is_here("localhost")
    assert is_here("127.0.0.1")
    assert not is_here("2001:db8::1")


def test_without_the_right_to_send_raw_frames_it_says_so(namespace: Namespace) -> None:
    script = (
        "import json, sys\n"
        "from orchestrator.generators import registry\n"
        "from orchestrator.interruption import Interruption\n"
        "from rackproof.model.inventory import GeneratorEntry\n"
        "entry = GeneratorEntry.model_validate(json.loads(sys.argv[1]))\n"
        "with registry.driver('native').opened(entry, entry.ports, {}, Interruption(), False):\n"
        "    pass\n"
    )
    drop = ["setpriv", "--bounding-set", "-net_raw", "--inh-caps", "-net_raw"]
    command = [*drop, sys.executable, "-c", script, json.dumps({"name": "here", "kind": "native", "ports": ["lo"]})]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": str(Path.cwd())}
    )
    assert "it lacks the capability CAP_NET_RAW" in done.stderr
    assert done.returncode != 0


def test_what_is_wrong_with_an_entry_is_found_without_reaching_for_anything() -> None:
    bad = GeneratorEntry(name="x", kind="native", ports=("eth0", "Ethernet1/1"), options={"namespace": "lab", "speed": 1})
    assert native.objections(bad) == (
        "port Ethernet1/1: expected the name of a network interface, at most 15 characters and no slash",
        "option speed: there is no such option; there are: namespace",
        "option namespace: expected a path such as /run/netns/lab, found lab",
    )
    assert native.objections(GeneratorEntry(name="x", kind="native", ports=("eth0",))) == ()
