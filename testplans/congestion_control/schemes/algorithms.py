"""Congestion control in the kernel of a host: is it there, and what stands in for it?"""

import itertools
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rackproof.errors import LabError
from rackproof.model.program import Command
from rackproof.ports import Host
from testplans.congestion_control.schemes.tools import BPF, SCRIPTS, Call, Tools

#: Exit statuses of programs/kernel_algorithm.py.
PRESENT, ABSENT = 0, 3
LOOK_S = 20.0
REGISTER_S = 15.0
POLL_S = 0.1

_numbers = itertools.count()


def has(call: Call, algorithm: str, tools: Tools) -> bool:
    """True where the host's kernel takes the algorithm on a socket. Raises LabError where that cannot be found out."""
    looked = call(tools.command((tools.plain_python, str(SCRIPTS / "kernel_algorithm.py"), algorithm)), LOOK_S)
    if looked.exit_status not in (PRESENT, ABSENT):
        raise LabError(f"cannot ask the kernel for {algorithm}: exit status {looked.exit_status}: {looked.output.strip()[-500:]}")
    return looked.exit_status == PRESENT


def why_no_bpf(call: Call, bpf: str, tools: Tools) -> str:
    """Why the host cannot register the BPF program ("" where it can), by doing it."""
    tried = call(_bpf_command(bpf, tools, _name(bpf), "--try"), REGISTER_S)
    return "" if tried.exit_status == 0 else tried.output.strip()[-500:] or f"exit status {tried.exit_status}"


@contextmanager
def offered(host: Host, algorithm: str, bpf: str | None, tools: Tools) -> Iterator[str]:
    """The name under which the host's kernel offers the algorithm, while the context lasts. Raises LabError.

    Names are global to the machine, so that of a BPF program is unique (the process, a running number); it is unregistered at the end.
    """
    if has(host.call, algorithm, tools):
        yield algorithm
        return
    if bpf is None:
        raise LabError(f"{host.name}: expected a kernel with the algorithm {algorithm}, found none: load its module (tcp_{algorithm})")
    name = _name(bpf)
    program = host.start(_bpf_command(bpf, tools, name))
    try:
        deadline = time.monotonic() + REGISTER_S
        while not has(host.call, name, tools):
            ended = program.poll()
            if ended is not None or time.monotonic() > deadline:
                said = (ended if ended is not None else program.stop()).output.strip()[-1500:]
                raise LabError(f"{host.name}: {algorithm} is not in the kernel, and its BPF program cannot be registered: {said}")
            time.sleep(POLL_S)
        yield name
    finally:
        program.stop()


def _name(bpf: str) -> str:
    return f"rp{bpf}{os.getpid():x}{next(_numbers) % 256:02x}"


def _bpf_command(bpf: str, tools: Tools, *arguments: str) -> Command:
    return tools.command((tools.plain_python, str(SCRIPTS / "bpf_algorithm.py"), str(BPF / f"{bpf}.bpf.o"), *arguments))
