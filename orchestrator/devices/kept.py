"""What is kept of a device on the worker's machine until it is restored: its raw configuration, and whether it was changed.

It outlives the process that captured it, so that whoever comes after a worker's death can bring the device back.
"""

import os
from pathlib import Path

from rackproof.settings import Settings


def state_folder(settings: Settings, testbed: str, device: str) -> Path:
    """The private folder of a device."""
    return settings.data_dir / "devices" / testbed / device


class Kept:
    """The private folder (0700) of one device."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        self._configuration = folder / "configuration"
        self._applied = folder / "applied"

    @property
    def configuration(self) -> str | None:
        """The raw configuration as it was found, None where none is kept."""
        return self._configuration.read_text() if self._configuration.exists() else None

    @property
    def applied(self) -> bool:
        """True from before the first apply until the device is as it was found."""
        return self._applied.exists()

    def keep(self, configuration: str) -> None:
        """Keep a configuration in place of the one that is kept."""
        self._write(self._configuration, configuration)

    def mark_applied(self) -> None:
        """Say that the device may be changed from now on."""
        self._write(self._applied, "")

    def forget(self) -> None:
        """The device is as it was found."""
        self._applied.unlink(missing_ok=True)
        self._configuration.unlink(missing_ok=True)

    def _write(self, path: Path, text: str) -> None:
        part = path.with_suffix(".part")
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
