"""One endless TCP flow of TRex's own TCP: `trex_tcp.py receiver BIND PEER PORT ALGORITHM TREX FOLDER`, then `... sender ... AFTER`.

Each side starts a TRex of its own (ASTF, AF_PACKET, software mode) on the interface that has the address BIND. TRex uses the hosts' IP
addresses, but hardware addresses that are made of them: to the kernels its packets are somebody else's, and their TCP does not answer.
The receiver listens on PORT when its TRex serves. The sender sends from AFTER [s] after its own start on, and then says which algorithm
its TRex runs. TREX is TRex's folder, FOLDER an empty one.
"""

import contextlib
import hashlib
import importlib
import ipaddress
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

#: glob.tcp.cc_algo.
ALGORITHMS = {"newreno": 0, "cubic": 1}
#: What TRex may have on the way [byte]: enough for 1 Gbit/s and a round trip of 100 ms.
BUFFER_BYTES = 16 << 20
CHUNK_BYTES = 100_000
FLOW_BYTES = 1 << 50
#: The segments of RFC 6928.
INITIAL_WINDOW = 10
#: TRex's way to have every second segment acknowledged [byte].
NO_DELAY_BYTES = 2920
START_S = 60.0
POLL_S = 0.1
SEND_S = 5.0
SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC = 263, 1, 1


def main() -> None:
    """Run one side until it is ended, or TRex ends."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    begun = time.monotonic()
    side, bind, peer, port, algorithm, trex, folder, *after = sys.argv[1:]
    sends = side == "sender"
    addresses = (bind, peer) if sends else (peer, bind)
    rpc, publisher = _free_ports(2)
    interface = _interface(bind)
    with _promiscuous(interface), (Path(folder) / "trex.log").open("w+b") as log:
        config = Path(folder) / "trex.yaml"
        config.write_text(_config(interface, bind, peer, rpc, publisher, sends=sends))
        server = subprocess.Popen(
            ["./_t-rex-64", "-i", "--astf", "--software", "--no-key", "--cfg", str(config)],
            cwd=trex,
            env={**os.environ, "LD_LIBRARY_PATH": trex, "RUNTIME_DIRECTORY": folder},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        client, api = _client(trex, rpc, publisher, server, log)
        profile = _profile(api, *addresses, int(port), ALGORITHMS[algorithm])
        client.load_profile(profile)
        if sends:
            left_s = float(after[0]) - (time.monotonic() - begun)
            if left_s < 0:
                sys.exit(f"TRex took {-left_s:.1f} s longer to start than the {after[0]} s that it has")
            time.sleep(left_s)
        client.start(duration=-1)
        if sends:
            print(_seen(client, profile, algorithm), flush=True)
            server.wait()
        else:
            with socket.create_server((bind, int(port))):
                server.wait()
        sys.exit(f"TRex ended:\n{_end(log)}")


def _interface(address: str) -> str:
    ask = ["ip", "-json", "-4", "address", "show", "to", address]
    names = [str(each["ifname"]) for each in json.loads(subprocess.check_output(ask)) if each]
    if len(names) != 1:
        sys.exit(f"expected one interface with the address {address}, found {', '.join(names) or 'none'}")
    return names[0]


def _promiscuous(interface: str) -> contextlib.closing[socket.socket]:
    """The interface takes packets to TRex's hardware address as well, as long as this is open."""
    held = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    request = struct.pack("iHH8x", socket.if_nametoindex(interface), PACKET_MR_PROMISC, 0)
    held.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, request)
    return contextlib.closing(held)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(each.getsockname()[1]) for each in held]


def _hardware_address(address: str) -> str:
    """A locally administered one."""
    return ":".join(f"{byte:02x}" for byte in b"\x02\x52" + ipaddress.IPv4Address(address).packed)


def _config(interface: str, bind: str, peer: str, rpc: int, publisher: int, *, sends: bool) -> str:
    """TRex's ports are pairs: clients at the first, servers at the second; a side needs one of them."""
    port = f"--vdev=net_af_packet0,iface={interface},framecnt=4096"
    ours, other = _hardware_address(bind), _hardware_address(peer)
    config = {
        "version": 2,
        "port_limit": 2,
        "low_end": True,
        "low_end_core": max(os.sched_getaffinity(0)),
        "prefix": "rackproof",
        "interfaces": [port, "dummy"] if sends else ["dummy", port],
        "zmq_rpc_port": rpc,
        "zmq_pub_port": publisher,
        "port_info": [{"src_mac": ours, "dest_mac": other}] * 2,
    }
    return "- " + "\n  ".join(f"{key}: {json.dumps(value)}" for key, value in config.items()) + "\n"


def _client(trex: str, rpc: int, publisher: int, server: subprocess.Popen[bytes], log: Any) -> tuple[Any, Any]:
    """TRex's own client, connected, and its module."""
    end = time.monotonic() + START_S
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", rpc)):
            break
        if server.poll() is not None or time.monotonic() > end:
            sys.exit(f"TRex did not start:\n{_end(log)}")
        time.sleep(POLL_S)
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(Path(trex) / "automation/trex_control_plane/interactive"))
    api = importlib.import_module("trex.astf.api")
    client = api.ASTFClient(server="127.0.0.1", sync_port=rpc, async_port=publisher, verbose_level="none")
    client.connect()
    client.reset()
    return client, api


def _profile(api: Any, sender: str, receiver: str, port: int, algorithm: int) -> Any:
    sending, receiving = api.ASTFProgram(side="c"), api.ASTFProgram(side="s")
    sending.set_send_blocking(False)  # or it would wait for the acknowledgement of each chunk
    sending.set_var("chunks", FLOW_BYTES // CHUNK_BYTES)
    sending.set_label("next:")
    sending.send("", size=CHUNK_BYTES, fill="x")
    sending.jmp_nz("chunks", "next:")
    receiving.recv(FLOW_BYTES)
    settings = api.ASTFGlobalInfo()
    settings.tcp.cc_algo = algorithm
    settings.tcp.no_delay_counter = NO_DELAY_BYTES
    settings.tcp.txbufsize = settings.tcp.rxbufsize = BUFFER_BYTES
    settings.tcp.initwnd = INITIAL_WINDOW
    addresses = api.ASTFIPGen(
        dist_client=api.ASTFIPGenDist(ip_range=[sender, sender]), dist_server=api.ASTFIPGenDist(ip_range=[receiver, receiver])
    )
    return api.ASTFProfile(
        default_ip_gen=addresses,
        default_c_glob_info=settings,
        default_s_glob_info=settings,
        templates=api.ASTFTemplate(
            client_template=api.ASTFTCPClientTemplate(program=sending, ip_gen=addresses, port=port, limit=1, cps=100),
            server_template=api.ASTFTCPServerTemplate(program=receiving, assoc=api.ASTFAssociationRule(port=port)),
        ),
    )


def _seen(client: Any, profile: Any, algorithm: str) -> str:
    """What TRex runs, once it has sent something: its version, and the profile's algorithm where it says that it has that profile."""
    end = time.monotonic() + SEND_S
    while not client.get_stats()["traffic"]["client"].get("tcps_sndbyte", 0):
        if time.monotonic() > end:
            sys.exit(f"TRex sent nothing within {SEND_S:g} s")
        time.sleep(POLL_S)
    loaded = hashlib.md5(profile.to_json_str(pretty=False, sort_keys=True).encode(), usedforsecurity=False).hexdigest()
    question = {"handler": client.handler, "profile_id": "_", "fragment": "", "frag_first": True, "md5": loaded}
    answer = client._transmit("profile_fragment", params=question)
    if not (answer and (answer.data() or {}).get("matches_loaded")):
        return f"TRex does not say that it runs this profile: {answer.err() or answer.data()}"
    return f"TRex {client.get_server_version()['version']} {algorithm}"


def _end(log: Any) -> str:
    log.seek(0)
    return str(log.read().decode(errors="replace")[-1000:])


if __name__ == "__main__":
    main()
