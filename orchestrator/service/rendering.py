"""How is the report of a campaign made? `python -m orchestrator.service.rendering CAMPAIGN KINDS...` draws, writes and ends.

Drawing takes as much processor as measuring and hundreds of megabytes: it runs at the lowest priority, and gives its memory back by ending.
What was written is said on standard output as one line of JSON: {"pdf": [path, SHA-256], "html": ..., "json": ...}.
"""

import errno
import hashlib
import json
import logging
import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from rackproof.errors import RackproofError, StoreAway, StoreError
from rackproof.model.campaign import CampaignRecord
from rackproof.parent import end_with_parent
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.samples import Place
from rackproof.store.stored_samples import StoredSamples

_NICEST = 19
_UNFINISHED = ".making-"
#: A folder of unfinished files that is older belongs to nobody any more; other machines may share the reports folder [s].
_FORGOTTEN_S = 3600
#: The exit status where trying again may help: the database was away, or a disk was full.
TRY_AGAIN = 75
Files = dict[str, tuple[str, str]]


def main() -> None:
    """Render the campaign that the first argument names; the others are the folders with the kinds of plan."""
    end_with_parent(signal.SIGKILL)
    os.nice(_NICEST)
    campaign, *folders = sys.argv[1:]
    import testplans

    testplans.__path__[:] = folders
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    settings = Settings.load()
    try:
        with Store.open(settings) as store:
            record, raw = store.campaign(int(campaign)), store.samples_place
        print(json.dumps(render(record, raw, settings.reports_dir)), flush=True)
    except RackproofError as error:
        print(error, file=sys.stderr)
        sys.exit(TRY_AGAIN if isinstance(error, StoreAway) else 1)


def render(record: CampaignRecord, raw: Place, folder: Path) -> Files:
    """Write PDF, HTML and JSON of a campaign, named after their content; where they are, and their SHA-256. Raises StoreError.

    raw: where the campaign's samples are.
    """
    from reports.campaign import document
    from reports.write import write_report
    from testplans.registry import kind

    chosen = kind(record.kind)
    expected = chosen.expectation(chosen.plan_model.model_validate(record.plan))
    now = datetime.now(UTC).replace(microsecond=0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _forget_unfinished(folder)
        with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=folder) as beside:
            report = document(record, chosen.title, chosen.sections(record, StoredSamples.of(record, raw)), now, expected)
            # One process beside this one: half of a small machine stays with whoever measures.
            paths = write_report(report, Path(beside), workers=1)
            return {name: _keep(path, folder, record.id) for name, path in (("pdf", paths.pdf), ("html", paths.html), ("json", paths.json))}
    except OSError as error:
        wrong = StoreAway if error.errno in (errno.ENOSPC, errno.EDQUOT) else StoreError
        raise wrong(f"the report of campaign {record.id} could not be written to {folder}: {error.strerror or error}") from error


def _keep(made: Path, folder: Path, campaign: int) -> tuple[str, str]:
    """Give the file its name, safe against a power cut. The same name is the same content, so an earlier one may be replaced."""
    with made.open("rb") as source:
        sha256 = hashlib.file_digest(source, "sha256").hexdigest()
        os.fsync(source.fileno())
    name = f"report-{campaign}-{sha256[:16]}{made.suffix}"
    made.replace(folder / name)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return name, sha256


def _forget_unfinished(folder: Path) -> None:
    """Remove what renderings that were killed left behind."""
    for left in folder.glob(f"{_UNFINISHED}*"):
        with suppress(OSError):  # another worker was first
            if time.time() - left.stat().st_mtime > _FORGOTTEN_S:
                shutil.rmtree(left)


if __name__ == "__main__":
    main()
