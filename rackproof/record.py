"""Where do the processes of `rackproof up` write what they have to say? To files that cannot grow without end, or to standard error."""

import json
import os
import re
import shutil
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

#: A log that is longer begins anew, and the one before it is kept [byte].
LONGEST_BYTES = 10_000_000
_TAIL_BYTES = 8192
_LAST_WORDS_CHARACTERS = 300


class Record:
    """folder: where the logs go, one for each process; None: everything goes to standard error, and what is said here is JSON too."""

    def __init__(self, folder: str | None) -> None:
        self._folder = Path(folder) if folder is not None else None
        self._looked = time.monotonic()

    def say(self, text: str, level: str = "info") -> None:
        """Tell whoever looks: a person, or whatever collects the logs."""
        now = datetime.now(UTC)
        if self._folder is None:
            line = json.dumps(
                {"time": now.isoformat().replace("+00:00", "Z"), "level": level, "logger": "rackproof.supervisor", "message": text}
            )
        else:
            line = f"{now.astimezone():%H:%M:%S} {text}"
        with suppress(OSError):  # the terminal may be gone
            print(line, file=sys.stderr, flush=True)

    def files(self, name: str) -> list[tuple[Any, ...]]:
        """The file actions (os.posix_spawn) that send a process's output where it belongs."""
        if self._folder is None:
            return [(os.POSIX_SPAWN_DUP2, 2, 1)]
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        return [(os.POSIX_SPAWN_OPEN, 1, str(self._log(name)), flags, 0o600), (os.POSIX_SPAWN_DUP2, 1, 2)]

    def last_words(self, name: str) -> str:
        """What a process said last, and where the rest stands, as the end of a sentence."""
        if self._folder is None:
            return ""
        path = self._log(name)
        try:
            with path.open("rb") as log:
                log.seek(max(0, path.stat().st_size - _TAIL_BYTES))
                lines = [line for line in log.read().decode(errors="replace").splitlines() if re.search(r"\w", line)]
        except OSError:
            return ""
        said = _message(lines[-1])[:_LAST_WORDS_CHARACTERS] if lines else ""
        return f"\n         it said last: {said}\n         its log: {path}" if said else ""

    def rotate(self, every_s: float) -> None:
        """Begin logs anew that are too long; looks no more often than every_s."""
        if self._folder is None or time.monotonic() - self._looked < every_s:
            return
        self._looked = time.monotonic()
        for log in self._folder.glob("*.log"):
            with suppress(OSError):  # a full disk: the logs stay as they are
                if log.stat().st_size > LONGEST_BYTES:
                    shutil.copyfile(log, log.with_suffix(".log.1"))
                    # The process goes on writing at the end of its file, wherever that is.
                    os.truncate(log, 0)

    def _log(self, name: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{name.removeprefix('the ').replace(' ', '-')}.log"


def _message(line: str) -> str:
    with suppress(ValueError):
        found = json.loads(line)
        if isinstance(found, dict):
            return str(found.get("message", line))
    return line
