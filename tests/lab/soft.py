"""Software devices for tests, each in a box of its own (tests/lab/sshd.py): Open vSwitch with the user-space datapath, BOFUSS, and FRR.

Their daemons are the test's own: run in the box's network, keep everything in a folder that goes with them, and are no system services.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from orchestrator.bench import links
from rackproof.model.inventory import Credentials, DeviceEntry
from tests.lab.cables import until_running
from tests.lab.sshd import LinuxBox, linux_box

START_S = 60.0
OVS = ("ovsdb-server", "ovs-vswitchd", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl")
OPENFLOW = 6653
FRR = Path("/usr/lib/frr")


@dataclass(frozen=True, kw_only=True)
class SoftDevice:
    """A running device. Its ports are cabled to interfaces of the same names in box.far. run_dir: where its sockets are."""

    box: LinuxBox
    entry: DeviceEntry
    run_dir: Path

    def run(self, *command: str) -> str:
        """Run a command on the device, past SSH; its output."""
        return self.box.run("env", f"OVS_RUNDIR={self.run_dir}", *command)


@contextmanager
def openvswitch(*, ports: Sequence[str]) -> Iterator[SoftDevice]:
    """An Open vSwitch without bridges; skips the test where there can be none."""
    if missing := [program for program in OVS if shutil.which(program) is None]:
        pytest.skip(f"no Open vSwitch here: {', '.join(missing)} (openvswitch-switch)")
    with ExitStack() as stack:
        box, folder = stack.enter_context(_box("ovs-1", ports)), stack.enter_context(_folder())
        database, remote = folder / "conf.db", folder / "db.sock"
        subprocess.run(["ovsdb-tool", "create", database, "/usr/share/openvswitch/vswitch.ovsschema"], check=True)
        _daemon(stack, box, folder, "ovsdb-server", str(database), f"--remote=punix:{remote}", f"--unixctl={folder}/ovsdb.ctl")
        _until(remote.exists, folder)
        _daemon(stack, box, folder, "ovs-vswitchd", f"unix:{remote}", f"--unixctl={folder}/vswitchd.ctl")
        device = _device(box, "openvswitch", folder, {"run_dir": str(folder), "datapath": "netdev"})
        device.run("ovs-vsctl", "--no-wait", "init")
        yield device


@contextmanager
def openflow_switch(*, ports: Sequence[str]) -> Iterator[SoftDevice]:
    """An Open vSwitch that waits for OpenFlow controllers, with the ports in its bridge br0; skips the test where there can be none."""
    with openvswitch(ports=ports) as device:
        bridge = ["add-br", "br0", "--", "set", "Bridge", "br0", "datapath_type=netdev", "fail_mode=secure"]
        added = [word for port in ports for word in ("--", "add-port", "br0", port)]
        device.run("ovs-vsctl", *bridge, *added, "--", "set-controller", "br0", "ptcp:6653")
        _until(lambda: _answers(device.box.address, OPENFLOW), device.run_dir)
        yield _spoken_to(device)


@contextmanager
def bofuss(*, ports: Sequence[str]) -> Iterator[SoftDevice]:
    """BOFUSS (github.com/CPqD/ofsoftswitch13), which knows push_pbb; skips the test where its program `ofdatapath` is not on the path."""
    program = shutil.which("ofdatapath")
    if program is None:
        pytest.skip("no BOFUSS here: ofdatapath, made with PIPELINE_TABLES 254")
    with ExitStack() as stack:
        box, folder = stack.enter_context(_box("bofuss-1", ports)), stack.enter_context(_folder())
        _daemon(stack, box, folder, program, "--no-local-port", "--no-slicing", "-i", ",".join(ports), f"ptcp:{OPENFLOW}")
        _until(lambda: _answers(box.address, OPENFLOW), folder)
        yield _spoken_to(_device(box, "openflow", folder, {}))


@contextmanager
def frr(*, ports: Sequence[str], ldp: bool = False) -> Iterator[SoftDevice]:
    """FRR (zebra, staticd, with ldp also ldpd) with nothing configured; skips the test where there can be none."""
    daemons = ("zebra", "staticd", *(["ldpd"] if ldp else []))
    if missing := [name for name in (*daemons, "frr-reload.py") if not (FRR / name).exists()]:
        pytest.skip(f"no FRR here: {', '.join(missing)} (frr, frr-pythontools)")
    with ExitStack() as stack:
        box, folder = stack.enter_context(_box("frr-1", ports)), stack.enter_context(_folder())
        shutil.chown(folder, "frr", "frr")
        api = ["-z", str(folder / "zserv.api"), "--vty_socket", str(folder), "-P", "0"]
        for name in daemons:
            own = ["--ctl_socket", str(folder)] if name == "ldpd" else []
            files = ["-f", str(folder / f"{name}.conf"), "-i", str(folder / f"{name}.pid")]
            _daemon(stack, box, folder, str(FRR / name), *api, *files, *own)
            _until((folder / f"{name}.vty").exists, folder)
        yield _device(box, "frr", folder, {"vty_socket": str(folder)})


@contextmanager
def _box(name: str, ports: Sequence[str]) -> Iterator[LinuxBox]:
    with linux_box(name) as box:
        for port in ports:
            links.cable(box.namespace, port, box.far, port)
        until_running(box.far, *ports)
        yield box


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rackproof-soft-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def _device(box: LinuxBox, platform: str, folder: Path, options: dict[str, str]) -> SoftDevice:
    return SoftDevice(box=box, run_dir=folder, entry=box.entry.model_copy(update={"platform": platform, "options": options}))


def _spoken_to(device: SoftDevice) -> SoftDevice:
    """The device as one that is configured by OpenFlow, without SSH."""
    nobody = {"port": OPENFLOW, "credentials": Credentials(), "known_host": ""}
    return replace(device, entry=device.entry.model_copy(update={"platform": "openflow", "options": {}, **nobody}))


def _answers(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=1.0):
            return True
    except OSError:
        return False


def _daemon(stack: ExitStack, box: LinuxBox, folder: Path, *command: str) -> None:
    inside = ["nsenter", f"--net=/proc/self/fd/{box.namespace.fd}", *command]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            inside,
            pass_fds=(box.namespace.fd,),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, "OVS_RUNDIR": str(folder), "OVS_LOGDIR": str(folder), "OVS_DBDIR": str(folder)},
        )
    stack.callback(process.wait)
    stack.callback(process.terminate)


def _until(there: Callable[[], bool], folder: Path) -> None:
    end = time.monotonic() + START_S
    while not there():
        assert time.monotonic() < end, f"a daemon does not start: {(folder / 'log').read_text()}"
        time.sleep(0.01)
