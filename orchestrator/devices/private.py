"""A private folder for what must not stay: in memory where the machine has that, and removed even after its owner was killed."""

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_PREFIX = "rackproof-ansible-"
#: A folder that is younger may be about to be claimed.
_YOUNG_S = 60.0


def private_folder() -> tuple[Path, int]:
    """A new folder (0700) and an open file that claims it; folders that nobody claims any more are removed."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of our own is made there
    parent = memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())
    for left in parent.glob(f"{_PREFIX}*"):
        _remove_if_unclaimed(left)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    claim = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return folder, claim


def _remove_if_unclaimed(folder: Path) -> None:
    with suppress(OSError):  # claimed, not ours, or gone
        if folder.stat().st_mtime > time.time() - _YOUNG_S:
            return
        claim = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(claim)
