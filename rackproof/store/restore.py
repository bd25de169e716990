"""How is a backup put back, and when is that refused?"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, text

from rackproof.errors import Conflict, StoreError
from rackproof.settings import Settings
from rackproof.store import database, objects, pgtools
from rackproof.store.archive import DATABASE, Archive
from rackproof.store.backup import Backup, summary
from rackproof.store.schema import HEAD
from rackproof.store.store import Store

#: A database in which one of these has a row is in use.
_TELLING = ("campaigns", "users", "schedules", "reports", "audit")
#: A session that was closed is seen for a moment longer, our own too [s].
GONE_S = 10.0
_POLL_S = 0.05
_OTHERS = text("""
    SELECT DISTINCT coalesce(nullif(application_name, ''), 'process ' || pid)
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
""")


def restore(settings: Settings, store: Store, source: Path, replace: bool = False) -> Backup:
    """Put a backup in the place of what is there. Raises StoreError, and Conflict where it must not be done.

    All of the backup is read and verified before anything is touched, the database changes in one transaction, and files are moved into
    place after it; where the process is killed between the two, the command is to be given again with `replace`.
    """
    archive = Archive.verified(source)
    if archive.manifest.revision > HEAD:
        raise StoreError(
            f"{source} was made by a newer Rackproof (schema {archive.manifest.revision}, this one knows {HEAD}): update Rackproof"
        )
    _refuse(store, replace)
    with _staged(settings, store) as (staging, places):
        archive.extract(staging)
        with store.transactions.engine.connect() as connection:
            version = int(connection.scalar(text("SHOW server_version_num")) or 0) // 10_000
        # Not even our own connections may hold anything of what is replaced.
        store.transactions.engine.dispose()
        pgtools.load(store.url, staging / DATABASE, version)
        for name, place in places.items():
            if (staging / name).is_dir() or replace:
                _put(staging / name, place, replace)
    database.migrate(store.transactions.engine)
    return summary(archive)


def _refuse(store: Store, replace: bool) -> None:
    alive = [worker.name for worker in store.workers.list() if worker.alive]
    if alive:
        raise Conflict(f"workers are at work on this database ({', '.join(alive)}): stop them first")
    store.transactions.engine.dispose()
    with store.transactions.step("the database could not be looked at") as connection:
        if others := _others(connection):
            raise Conflict(f"others use this database ({', '.join(sorted(others))}): stop them first")
        used = [name for name in _TELLING if _has_rows(connection, name)]
    if used and not replace:
        raise Conflict(f"the database is not empty (there are {', '.join(used)}): give --replace to lose what is in it")


def _others(connection: Connection) -> Sequence[str]:
    """Who else uses the database, and goes on doing so."""
    deadline = time.monotonic() + GONE_S
    while (others := connection.scalars(_OTHERS).all()) and time.monotonic() < deadline:
        # What a transaction saw of the sessions, it would see again.
        connection.execute(text("SELECT pg_stat_clear_snapshot()"))
        time.sleep(_POLL_S)
    return others


def _has_rows(connection: Connection, table: str) -> bool:
    return bool(connection.scalar(text(f"SELECT EXISTS (SELECT FROM {table})")))  # noqa: S608  # one of ours


@contextmanager
def _staged(settings: Settings, store: Store) -> Iterator[tuple[Path, dict[str, Path | str]]]:
    """A folder beside the data to unpack into, and where its parts belong."""
    places: dict[str, Path | str] = {"samples": store.samples_place, "reports": settings.reports_dir}
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".restore-", dir=settings.data_dir) as folder:
            yield Path(folder), places
    except OSError as error:
        raise StoreError(f"the backup could not be put back: {error.strerror or error}") from error


def _put(source: Path, place: Path | str, replace: bool) -> None:
    if not isinstance(place, Path):
        for path in sorted(source.rglob("*")):
            if path.is_file():
                objects.put(place, str(path.relative_to(source)), path)
        return
    place.mkdir(parents=True, exist_ok=True)
    if replace:
        for old in _ours(place):
            shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
    for new in sorted(source.iterdir()) if source.is_dir() else ():
        target = place / new.name
        if target.is_dir():
            shutil.rmtree(target)
        # Within one file system this is a rename; the folders may lie on several.
        shutil.move(new, target)
    descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _ours(place: Path) -> list[Path]:
    """What the service put there: folders named after campaigns, and reports."""
    return [path for path in place.iterdir() if path.name.isdigit() or path.name.startswith("report-")]
