"""How is everything written into one file: database, samples and reports, as they were at one moment?"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path

from sqlalchemy import Connection, text

import rackproof
from rackproof.errors import NotFound, StoreError
from rackproof.settings import Settings
from rackproof.store import objects, pgtools
from rackproof.store.archive import DATABASE, Archive, Manifest, Writer
from rackproof.store.retention import BACKUP_LOCK
from rackproof.store.store import Store

_SAMPLES = text("""
    SELECT DISTINCT trials.samples_path AS path, trials.samples_sha256 AS sha256
    FROM trials JOIN campaigns ON campaigns.id = trials.campaign_id
    WHERE trials.samples_path IS NOT NULL AND (campaigns.samples_gone IS NULL OR campaigns.samples_gone < campaigns.ended)
    ORDER BY 1
""")
_REPORTS = text("""
    SELECT pdf_path AS path, pdf_sha256 AS sha256 FROM reports
    UNION SELECT html_path, html_sha256 FROM reports
    UNION SELECT json_path, json_sha256 FROM reports
    ORDER BY 1
""")


@dataclass(frozen=True, kw_only=True, slots=True)
class Backup:
    """A backup that was made or put back. missing: files that are not in it, each with the reason."""

    path: Path
    bytes: int
    samples: int
    reports: int
    missing: tuple[str, ...]


def backup(settings: Settings, store: Store, target: Path) -> Backup:
    """Write everything down while the service goes on; a file of that name is replaced once the new one is whole. Raises StoreError."""
    part = target.with_name(f".{target.name}.part")
    try:
        with _at_one_moment(store) as connection, tempfile.TemporaryDirectory(prefix="rackproof-", dir=target.parent) as folder:
            snapshot = str(connection.scalar(text("SELECT pg_export_snapshot()")))
            dump = Path(folder) / DATABASE
            pgtools.dump(store.url, dump, snapshot)
            # Nobody else may read what is in it: hashes of passwords, addresses of webhooks.
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as sink:
                writer = Writer(sink)
                with dump.open("rb") as source:
                    writer.add(DATABASE, source, dump.stat().st_size)
                missing = _add_files(settings, store, connection, writer)
                revision = str(connection.scalar(text("SELECT version_num FROM alembic_version")))
                writer.close(
                    Manifest(
                        made=datetime.now(UTC).isoformat(timespec="seconds"),
                        version=rackproof.__version__,
                        revision=revision,
                        members=writer.members,
                        missing=missing,
                    )
                )
                sink.flush()
                os.fsync(sink.fileno())
        part.replace(target)
        return summary(Archive(target, Manifest(made="", version="", revision="", members=writer.members, missing=missing)))
    except OSError as error:
        raise StoreError(f"the backup {target} could not be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)


def summary(archive: Archive) -> Backup:
    """What is in a backup."""
    names = archive.manifest.members
    return Backup(
        path=archive.path,
        bytes=archive.path.stat().st_size,
        samples=sum(name.startswith("samples/") for name in names),
        reports=sum(name.startswith("reports/") for name in names),
        missing=tuple(f"{name}: {why}" for name, why in archive.manifest.missing.items()),
    )


@contextmanager
def _at_one_moment(store: Store) -> Iterator[Connection]:
    """One snapshot for everything that is read, and nothing is deleted meanwhile that it names."""
    with store.transactions.engine.connect() as guard, store.transactions.reading("the database could not be written down") as connection:
        guard.execute(text("SELECT pg_advisory_lock_shared(:key)"), {"key": BACKUP_LOCK})
        guard.commit()
        try:
            yield connection
        finally:
            guard.execute(text("SELECT pg_advisory_unlock_shared(:key)"), {"key": BACKUP_LOCK})
            guard.commit()


def _add_files(settings: Settings, store: Store, connection: Connection, writer: Writer) -> dict[str, str]:
    missing = {}
    for folder, wanted, place in (("samples", _SAMPLES, store.samples_place), ("reports", _REPORTS, settings.reports_dir)):
        for row in connection.execute(wanted):
            name = f"{folder}/{row.path}"
            try:
                with _file(place, row.path) as source:
                    size = os.fstat(source.fileno()).st_size
                    if not writer.add(name, source, size, expected=row.sha256):
                        missing[name] = "it is not what was stored, or was measured again since"
            except (NotFound, FileNotFoundError):
                missing[name] = "it is not there"
    return missing


@contextmanager
def _file(place: Path | str, path: str) -> Iterator[BufferedReader]:
    if isinstance(place, Path):
        with (place / path).open("rb") as source:
            yield source
        return
    with tempfile.NamedTemporaryFile(prefix="rackproof-") as copy:
        objects.copy_to(place, path, copy.file)
        with Path(copy.name).open("rb") as source:
            yield source
