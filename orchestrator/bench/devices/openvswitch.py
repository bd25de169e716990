"""openvswitch: Open vSwitch with its user-space datapath, a learning switch between all of its ports; daemons of its own for each element.

What the daemons keep lies in a file system in memory that only they see, and that ends with them.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from functools import partial

from orchestrator.bench import links
from orchestrator.bench.devices import plain_switch
from orchestrator.bench.devices.plain_switch import PlainSwitch
from orchestrator.bench.hosts import Launched
from orchestrator.bench.namespaces import Namespace
from rackproof.errors import DeviceError
from rackproof.model.program import Command

MODEL = "openvswitch"
OPTIONS: frozenset[str] = frozenset()
LINK_RATE_BPS_MAX = 1e9
#: Frames per second over all emulated links between such switches, on two cores. Measured (benchmarks/chain.py).
WIRES_FPS_MAX = 9e3

#: Daemons lie where an ordinary user's path does not go.
PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
PROGRAMS = ("unshare", "mount", "chrt", "ovsdb-tool", "ovsdb-server", "ovs-vsctl", "ovs-vswitchd")
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
#: How long it may take until it listens on all of its ports [s].
START_S = 10.0
POLL_S = 0.02
IFF_PROMISC = 0x100
#: The database is filled before the switch starts, which then builds all of it at once. The generator and the emulated links spin, and a
#: switch of user space that had to wait for them would be measured as slow as they let it: real time goes first.
SCRIPT = """
set -e
mount -t tmpfs rackproof /run
ovsdb-tool create /run/conf.db "$1"
shift
ovsdb-server --remote=punix:/run/db.sock --unixctl=/run/db.ctl --no-chdir --verbose=warn /run/conf.db &
until [ -S /run/db.sock ]; do sleep 0.01; done
set_up="init -- add-br br0 -- set bridge br0 datapath_type=netdev"
for port in "$@"; do set_up="$set_up -- add-port br0 $port"; done
ovs-vsctl --db=unix:/run/db.sock --no-wait --timeout=5 $set_up
if chrt -f 1 true; then first="chrt -f 1"; else first="nice -n -20"; fi
exec $first ovs-vswitchd unix:/run/db.sock --unixctl=/run/switch.ctl --disable-system --no-chdir --verbose=warn
"""


objection = partial(plain_switch.objection, MODEL)


def probe() -> str:
    """Why it cannot run here, "" where nothing speaks against it: programs, the kernel's tap device, a file system of its own."""
    missing = [program for program in PROGRAMS if shutil.which(program, path=PATH) is None]
    if missing:
        return f"{', '.join(missing)} not found: install Open vSwitch (Debian and Ubuntu: openvswitch-switch)"
    with open("/dev/net/tun", "rb"):
        pass
    command = ["unshare", "--mount", "mount", "-t", "tmpfs", "rackproof", "/run"]
    tried = subprocess.run(
        command, env={"PATH": PATH}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, timeout=5
    )
    return tried.stderr.strip()


class Model(PlainSwitch):
    """Forwards from the moment it is made."""

    def __init__(self, *, name: str, namespace: Namespace, ports: Sequence[str], options: Mapping[str, float | int | bool | str]) -> None:
        super().__init__(name=name, namespace=namespace, ports=ports, options=options, model=MODEL)
        arguments = ("unshare", "--mount", "sh", "-c", SCRIPT, "sh", SCHEMA, *ports)
        self._switch = Launched(name, namespace, Command(arguments=arguments, environment={"PATH": PATH, "OVS_RUNDIR": "/run"}))
        try:
            self._wait_until_it_listens()
        except BaseException:
            self.close()
            raise

    def facts(self) -> Mapping[str, str]:
        """Model, and the version of Open vSwitch."""
        command = ["ovs-vswitchd", "--version"]
        said = subprocess.run(command, env={"PATH": PATH}, stdout=subprocess.PIPE, text=True, check=False, timeout=5)
        return {"model": MODEL, "version": said.stdout.partition("\n")[0], "datapath": "user space", "ports": str(len(self._ports))}

    def close(self) -> None:
        """End its daemons."""
        self._switch.kill()
        self._switch.wait_until_gone()

    def _wait_until_it_listens(self) -> None:
        deadline = time.monotonic() + START_S
        while not all(links.flags(self._namespace, port) & IFF_PROMISC for port in self._ports):
            if (ended := self._switch.poll()) is not None:
                raise DeviceError(f"{self.name}: Open vSwitch ended at once: {ended.output.strip()[-300:]}")
            if time.monotonic() > deadline:
                raise DeviceError(f"{self.name}: Open vSwitch did not listen on its ports within {START_S:g} s")
            time.sleep(POLL_S)
