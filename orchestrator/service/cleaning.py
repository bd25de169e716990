"""What is thrown away, and when? Old samples where a setting says so, and what the service itself kept long enough."""

import logging
import shutil
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from orchestrator.service.duty import About
from rackproof.errors import StoreError
from rackproof.settings import Settings
from rackproof.store import Store, objects, samples

log = logging.getLogger(__name__)

_EVERY_S = 3600.0
#: Other duties wait for this one: it goes on a little later [s].
_BUDGET_S = 1.0
_SOON_S = 1.0


class Cleaning:
    """The duty that cleans. Each worker deletes the samples on its own machine; those in an object store, whoever comes first."""

    name = "cleaning"
    words: frozenset[str] = frozenset()

    def __init__(self, settings: Settings, store: Store, worker: About) -> None:
        del worker
        self._keep_days = settings.keep_samples_days
        self._store = store

    def run(self) -> float:
        """Clean for a second; when to go on. Raises StoreError."""
        until = time.monotonic() + _BUDGET_S
        self._store.retention.tidy()
        if self._keep_days is not None:
            while self._store.retention.mark(timedelta(days=self._keep_days)) and time.monotonic() < until:
                pass
        # Without the setting, too: samples that were marked under an earlier one are gone.
        for number, campaign in enumerate(self._store.retention.gone(self._present())):
            # One at least, however long the rest took: else a slow database would let nothing go, ever.
            if number and time.monotonic() > until:
                return _SOON_S
            self._delete(campaign)
        return _EVERY_S

    def _present(self) -> list[int]:
        """Campaigns that have files here. A folder that is not named after a campaign is not ours."""
        place = self._store.samples_place
        if isinstance(place, Path):
            try:
                names = [entry.name for entry in place.iterdir() if entry.is_dir() and not entry.is_symlink()]
            except FileNotFoundError:
                names = []
            except OSError as error:
                raise StoreError(f"the samples in {place} could not be listed: {error.strerror}") from error
        else:
            names = objects.folders(place)
        return [int(name) for name in names if name.isascii() and name.isdigit()]

    def _delete(self, campaign: int) -> None:
        place = self._store.samples_place
        with self._store.retention.deleting(campaign) as paths:
            if paths is None:
                return
            for path in paths:
                samples.delete(place, path)
            if isinstance(place, Path):
                # What a killed process left there belongs to the campaign, too.
                with suppress(FileNotFoundError):
                    _remove(place / str(campaign))
        log.info("the samples of a campaign were deleted", extra={"campaign": campaign, "files": len(paths)})


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(f"the samples in {folder} could not be deleted: {error.strerror}") from error
