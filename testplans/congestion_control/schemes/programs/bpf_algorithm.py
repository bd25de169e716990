"""Registers a congestion control of BPF under a name until it is interrupted: `bpf_algorithm.py OBJECT NAME [--try]`; --try ends at once.

A name is global to the machine: it ends with the process id (hexadecimal) of the campaign's process and two more digits. Those of
processes that are gone are unregistered first. Needs root, bpftool and a kernel with BTF.
"""

import json
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

#: The name in the compiled object that ours is put over; the kernel's limit is 15 characters.
IN_OBJECT = b"rackproof_cc_na"
_OURS = re.compile(r"rp[a-z]{1,5}?(?P<process>[0-9a-f]{1,6})[0-9a-f]{2}")
TIME_S = 10.0


def main() -> None:
    """Register, wait for the end, unregister."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    path, name, trying = Path(sys.argv[1]), sys.argv[2], sys.argv[3:] == ["--try"]
    # From here on until the wait, an interruption must not leave the name behind.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    _sweep()
    number = _register(path, name)
    try:
        if not trying:
            signal.sigwait({signal.SIGINT})
    finally:
        _bpftool("unregister", "id", number)


def _register(path: Path, name: str) -> str:
    content = path.read_bytes()
    if content.count(IN_OBJECT) != 1 or len(name) > len(IN_OBJECT):
        sys.exit(f"{path}: expected the name {IN_OBJECT.decode()} in it once, and a new one that is no longer than it, found {name}")
    with tempfile.NamedTemporaryFile(suffix=".bpf.o") as file:
        file.write(content.replace(IN_OBJECT, name.encode().ljust(len(IN_OBJECT), b"\0")))
        file.flush()
        said = _bpftool("register", file.name)
    found = re.search(r"\bid (\d+)", said)
    if found is None:
        sys.exit(f"bpftool struct_ops register: expected the id of what was registered, found {said!r}")
    return found.group(1)


def _sweep() -> None:
    """Unregister what processes that are gone have left."""
    for map_name in {each["name"] for each in json.loads(_bpftool("list", as_json=True) or "[]")}:
        if not map_name.startswith("rackproof_"):
            continue
        # For each map of that name, its description and its value.
        parts: list[dict[str, Any]] = json.loads(_bpftool("dump", "name", map_name, as_json=True))
        for info, value in zip(parts[::2], parts[1::2], strict=True):
            ours = _OURS.fullmatch(value["bpf_struct_ops_tcp_congestion_ops"]["data"]["name"])
            if ours is not None and not Path(f"/proc/{int(ours['process'], 16)}").exists():
                _bpftool("unregister", "id", str(info["bpf_map_info"]["id"]))


def _bpftool(*arguments: str, as_json: bool = False) -> str:
    try:
        done = subprocess.run(
            ["bpftool", *(["--json"] if as_json else []), "struct_ops", *arguments],  # noqa: S607 - found on the PATH, as every program
            capture_output=True,
            text=True,
            timeout=TIME_S,
            check=False,
        )
    except OSError as error:
        sys.exit(f"bpftool cannot be run ({error.strerror}): apt-get install bpftool")
    if done.returncode != 0:
        sys.exit(f"bpftool struct_ops {' '.join(arguments)}: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout if as_json else done.stderr + done.stdout


if __name__ == "__main__":
    main()
