"""Hosts of the bench: each a network namespace with one port, in which programs run."""

import ipaddress
import json
import os
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

from orchestrator.bench import launcher, links
from orchestrator.bench.namespaces import Namespace
from rackproof.errors import BenchError, LabError
from rackproof.model.program import Command, Ended
from rackproof.model.topology import HostSpec

MTU = 1500
#: How long the launcher may take to start a program, and to be gone after it was killed [s].
START_S = 15.0
END_S = 15.0

#: What the campaign's process sets for the bench's, and no program of a host needs.
_OURS = ("RACKPROOF_", "PYTHONPATH", "OPENBLAS_NUM_THREADS")


class Hosts:
    """The hosts of one topology and the programs on them."""

    def __init__(self, specs: Sequence[HostSpec], namespaces: Mapping[str, Namespace], cabled: Mapping[str, Sequence[str]]) -> None:
        self._namespaces = {spec.name: namespaces[spec.name] for spec in specs}
        self._programs: dict[int, Launched] = {}
        self._numbers = count(1)
        for spec in specs:
            if spec.port not in cabled.get(spec.name, ()):
                raise BenchError(f"{spec.name}: expected a cable to its port {spec.port}, found none")
        for spec in specs:
            _address(spec, namespaces[spec.name])
        for spec in specs:
            _neighbours(spec, specs, namespaces)

    def start(self, host: str, command: Command) -> int:
        """Start a program; its number. Raises LabError."""
        try:
            namespace = self._namespaces[host]
        except KeyError:
            raise BenchError(f"{host}: no such host in the topology that stands") from None
        number = next(self._numbers)
        self._programs[number] = Launched(host, namespace, command)
        return number

    def poll(self, program: int) -> Ended | None:
        """How a program ended, None while it runs. Raises LabError."""
        return self._programs[program].poll()

    def stop(self, program: int) -> None:
        """Ask for a program's end; poll() says when it is there."""
        self._programs[program].stop()

    def close(self) -> None:
        """Kill every program and all that they started."""
        for program in self._programs.values():
            program.kill()
        for program in self._programs.values():
            program.wait_until_gone()
        self._programs.clear()


class Launched:
    """A program in a network namespace, under its launcher: whatever it started ends with it, and all of it with this process."""

    def __init__(self, host: str, namespace: Namespace, command: Command) -> None:
        if not command.arguments:
            raise LabError(f"{host}: expected a program, found an empty command")
        self._what = f"{host}: {command.arguments[0]}"
        self._lines: list[str] = []
        self._partial = b""
        self._ended: Ended | None = None
        control, self._control = os.pipe()
        self._report, report = os.pipe()
        os.set_blocking(self._report, False)
        handed = (namespace.fd, control, report)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", launcher.__file__, *map(str, handed), *command.arguments],
                pass_fds=handed,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**_environment(), **command.environment},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._close()
            raise LabError(f"{self._what} cannot be started: {error}") from error
        finally:
            os.close(control)
            os.close(report)
        first = self._line(0, START_S)
        if first is None or first["refused"] is not None:
            self.kill()
            self.wait_until_gone()
            why = first["refused"] if first is not None else f"its launcher did not answer within {START_S:g} s"
            raise LabError(f"{self._what} cannot be started: {why}; is it installed on this host, and on the PATH?")

    def poll(self) -> Ended | None:
        if self._ended is None and (last := self._line(1, 0.0)) is not None:
            self._ended = Ended(**last)
            self.wait_until_gone()
        return self._ended

    def stop(self) -> None:
        if self._ended is None:
            with suppress(BrokenPipeError):
                os.write(self._control, b"x")

    def kill(self) -> None:
        """Have everything killed. The launcher ends when nothing is left; killed itself, it could not wait for that."""
        if self._control >= 0:
            os.close(self._control)
            self._control = -1

    def wait_until_gone(self) -> None:
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise LabError(f"{self._what} did not end within {END_S:g} s of being killed") from None
        finally:
            self._close()

    def _close(self) -> None:
        self.kill()
        if self._report >= 0:
            os.close(self._report)
            self._report = -1

    def _line(self, index: int, timeout_s: float) -> dict[str, Any] | None:
        """A line of the launcher's report, None where it is not there yet. Raises LabError where it never will be."""
        while len(self._lines) <= index:
            if not select.select([self._report], [], [], timeout_s)[0]:
                return None
            got = os.read(self._report, 1 << 16)
            if not got:
                raise LabError(f"{self._what}: its launcher ended unexpectedly; somebody may have killed it")
            *whole, self._partial = (self._partial + got).split(b"\n")
            self._lines += [line.decode() for line in whole]
        line: dict[str, Any] = json.loads(self._lines[index])
        return line


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}


def _address(spec: HostSpec, namespace: Namespace) -> None:
    try:
        address = ipaddress.IPv4Interface(spec.address)
    except ValueError:
        raise BenchError(f"{spec.name}: expected an IPv4 address with its prefix length (10.82.1.1/24), found {spec.address!r}") from None
    port = links.index(namespace, spec.port)
    namespace.route.link("set", index=links.index(namespace, "lo"), state="up")
    namespace.route.link("set", index=port, mtu=MTU)
    namespace.route.addr("add", index=port, address=str(address.ip), prefixlen=address.network.prefixlen)


def _neighbours(spec: HostSpec, specs: Sequence[HostSpec], namespaces: Mapping[str, Namespace]) -> None:
    """Entries that never expire for all other hosts of its network: nobody asks for addresses on the path."""
    namespace = namespaces[spec.name]
    network = ipaddress.IPv4Interface(spec.address).network
    for other in specs:
        address = ipaddress.IPv4Interface(other.address).ip
        if other is not spec and address in network:
            hardware = links.hardware_address(namespaces[other.name], other.port)
            namespace.route.neigh("add", dst=str(address), lladdr=hardware, ifindex=links.index(namespace, spec.port), state="permanent")
