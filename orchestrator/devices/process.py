"""The process that runs plays: it holds ansible-runner, and ends whatever a play started when its time is over.

When the other end of the channel closes, whatever the reason, everything that it started ends, and its private folder is removed.
"""

import ctypes
import os
import select
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ansible_runner  # type: ignore[import-untyped]
import psutil

from orchestrator.bench.channel import Channel, Closed

PR_SET_CHILD_SUBREAPER = 36
#: What is kept of the words of a failure, and of what Ansible says beside tasks [characters].
WORDS_MAX = 4000
#: Tasks that do not touch the device: nobody waits for them.
_LOCAL = {"ansible.builtin.set_fact", "ansible.builtin.include_tasks", "set_fact", "include_tasks"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Play:
    """One run of a playbook. files: what it needs in its folder, by relative path ("inventory.yml"); they are gone when it ends."""

    folder: Path
    playbook: Path
    files: Mapping[str, str]


def main() -> None:
    """Serve the channel whose file descriptor is the first argument, in the private folder that is the second."""
    channel = Channel(socket.socket(fileno=int(sys.argv[1])))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the campaign's process decides, and closes the channel
    os.umask(0o077)
    # Whoever loses its parent below (Ansible's workers and ssh's masters do) becomes a child of this process, and can be found.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        while True:
            (plays, timeout_s), _ = channel.receive()
            _Plays(channel, plays).run(timeout_s)
    except Closed:
        pass
    finally:
        end_all()
        shutil.rmtree(sys.argv[2], ignore_errors=True)
        os._exit(0)


def end_all() -> None:
    """Kill everything below this process; what dies starts nothing any more."""
    while alive := [child for child in psutil.Process().children(recursive=True) if _lives(child)]:
        for child in alive:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        time.sleep(0.005)


def _lives(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


class _Plays:
    """Plays side by side, one a thread; what happens is told over the channel as it happens."""

    def __init__(self, channel: Channel, plays: list[Play]) -> None:
        self._channel = channel
        self._telling = threading.Lock()
        self._over, self._tell_over = os.pipe()
        self._threads = [threading.Thread(target=self._run, args=(play,), daemon=True) for play in plays]

    def run(self, timeout_s: float) -> None:
        """Run them to their end or their limit. Raises Closed."""
        end = time.monotonic() + timeout_s
        killed = False
        for thread in self._threads:
            thread.start()
        running = len(self._threads)
        while running:
            left_s = None if killed else max(0.0, end - time.monotonic())
            sources: list[Any] = [self._channel, self._over]
            ready, _, _ = select.select(sources, [], [], left_s)
            if self._channel in ready:
                raise Closed  # nothing is asked while plays run: the other end is gone, or wants an end
            if self._over in ready:
                running -= len(os.read(self._over, 64))
            elif not killed:
                killed = True
                end_all()
        for thread in self._threads:
            thread.join()
        with suppress(ChildProcessError):  # what ended after its own parent had
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        os.close(self._over)
        os.close(self._tell_over)
        self._tell("ended", killed)

    def _run(self, play: Play) -> None:
        try:
            play.folder.mkdir()
            for name, text in play.files.items():
                path = play.folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            ansible_runner.run(
                private_data_dir=str(play.folder),
                playbook=str(play.playbook),
                inventory=str(play.folder / "inventory.yml"),
                ident="play",
                quiet=True,
                suppress_env_files=True,
                event_handler=self._heard,
            )
        except Exception as error:  # noqa: BLE001 - told to the other process, which says it of every device without an outcome
            self._tell("aside", f"{type(error).__name__}: {error}")
        finally:
            shutil.rmtree(play.folder, ignore_errors=True)
            os.write(self._tell_over, b".")

    def _heard(self, event: dict[str, Any]) -> bool:
        """Pass on what matters of an event; False: no event is written to a file."""
        data = event.get("event_data", {})
        host, task, result = data.get("host"), data.get("task"), data.get("res", {})
        match event["event"]:
            case "runner_on_ok" if "rackproof_output" in result.get("ansible_facts", {}):
                self._tell("output", host, result["ansible_facts"]["rackproof_output"])
            case "runner_on_ok" if data.get("task_action") not in _LOCAL:
                self._tell("heard", f"{host}: {task}: {'changed' if result.get('changed') else 'ok'}")
            case "runner_on_failed" if not data.get("ignore_errors"):
                self._tell("failed", host, f"{task}: {words(result)}")
            case "runner_on_unreachable":
                self._tell("failed", host, f"it cannot be reached: {words(result)}")
            case "verbose" | "error" | "warning" if event.get("stdout"):
                self._tell("aside", event["stdout"])
        return False

    def _tell(self, *message: Any) -> None:
        with self._telling, suppress(Closed):
            self._channel.send(message)


def words(result: Mapping[str, Any]) -> str:
    """What a failed task says: its message, and the device's own words."""
    said = [str(result.get(key) or "").strip() for key in ("module_stderr", "stderr", "stdout")]
    message = str(result.get("msg") or "").strip()
    if message != "non-zero return code" or not any(said):
        said.insert(0, message)
    said += [words(item) for item in result.get("results", ()) if isinstance(item, Mapping) and item.get("failed")]
    return "\n".join(dict.fromkeys(filter(None, said)))[:WORDS_MAX]


if __name__ == "__main__":
    main()
