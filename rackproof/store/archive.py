"""What is a backup, as a file? A tar whose last member says what the others must be."""

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, Self

from rackproof.errors import StoreError

DATABASE = "database.dump"
MANIFEST = "manifest.json"
FORMAT = 1
# Nothing else is ever taken out: no path leads out of the folders.
_MEMBER = re.compile(r"database\.dump|samples/[0-9]+/[0-9]+\.parquet|reports/report-[0-9]+-[0-9a-f]+\.(pdf|html|json)")
_CHUNK_BYTES = 1 << 20
_MANIFEST_BYTES_MAX = 1 << 30


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """What is in a backup. members: SHA-256 (hex) by name; missing: files that should be there and could not be read, with the reason."""

    made: str
    version: str
    revision: str
    members: Mapping[str, str]
    missing: Mapping[str, str] = field(default_factory=dict)


class Writer:
    """Writes a backup; the manifest comes last, so that half a backup is none."""

    def __init__(self, sink: IO[bytes]) -> None:
        self._tar = tarfile.open(fileobj=sink, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115  # closed by close()
        self.members: dict[str, str] = {}

    def add(self, name: str, source: BufferedReader, size: int, expected: str | None = None) -> bool:
        """Add a member; False where it is not what was expected, which is left out. Raises OSError."""
        if not _MEMBER.fullmatch(name):
            raise StoreError(f"{name} has no place in a backup")
        if expected is not None:
            found = hashlib.file_digest(source, "sha256").hexdigest()
            source.seek(0)
            if found != expected:
                return False
        info = tarfile.TarInfo(name)
        info.size, info.mode = size, 0o600
        hashing = _Hashing(source)
        self._tar.addfile(info, hashing)
        self.members[name] = hashing.hexdigest()
        return True

    def close(self, manifest: Manifest) -> None:
        """Write the manifest and end."""
        content = json.dumps({"format": FORMAT, **asdict(manifest)}, indent=1).encode()
        info = tarfile.TarInfo(MANIFEST)
        info.size, info.mode = len(content), 0o600
        self._tar.addfile(info, io.BytesIO(content))
        self._tar.close()


class Archive:
    """A backup that is whole: every member was read and is what the manifest says."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest

    @classmethod
    def verified(cls, path: Path) -> Self:
        """Read all of it. Raises StoreError where anything is not as it was written."""
        found: dict[str, str] = {}
        manifest: dict[str, Any] | None = None
        with _opened(path) as tar:
            for member in tar:
                source = tar.extractfile(member)
                if source is None or manifest is not None:
                    raise StoreError(f"{path} is no backup: {member.name} has no place in it")
                if member.name == MANIFEST:
                    manifest = json.loads(source.read(_MANIFEST_BYTES_MAX))
                elif not _MEMBER.fullmatch(member.name) or member.name in found:
                    raise StoreError(f"{path} is no backup: {member.name} has no place in it")
                else:
                    found[member.name] = hashlib.file_digest(source, "sha256").hexdigest()  # type: ignore[arg-type]  # it reads
        if manifest is None:
            raise StoreError(f"{path} is not whole: it has no manifest, so writing it was interrupted")
        if manifest.pop("format", None) != FORMAT:
            raise StoreError(f"{path} was made by another version: expected format {FORMAT}")
        known = Manifest(**manifest)
        for name in sorted(known.members.keys() | found.keys()):
            if known.members.get(name) != found.get(name):
                expected, read = known.members.get(name, "none"), found.get(name, "none")
                raise StoreError(f"{path} was damaged: {name}: expected SHA-256 {expected}, found {read}")
        return cls(path, known)

    def extract(self, folder: Path) -> None:
        """Write all members below a folder. Raises StoreError."""
        with _opened(self.path) as tar:
            for member in tar:
                source = tar.extractfile(member)
                if source is None or member.name == MANIFEST:
                    continue
                if member.name not in self.manifest.members:
                    raise StoreError(f"{self.path} was changed while it was read")
                target = folder / member.name
                target.parent.mkdir(parents=True, exist_ok=True)
                found = hashlib.sha256()
                with target.open("xb") as sink:
                    while chunk := source.read(_CHUNK_BYTES):
                        found.update(chunk)
                        sink.write(chunk)
                if found.hexdigest() != self.manifest.members[member.name]:
                    raise StoreError(f"{self.path} was changed while it was read")


class _Hashing:
    """A file that is hashed as it is read."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._hash = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        chunk = self._source.read(size)
        self._hash.update(chunk)
        return chunk

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(path, mode="r:") as tar:
            yield tar
    except FileNotFoundError as error:
        raise StoreError(f"there is no file {path}") from error
    except (tarfile.TarError, EOFError, ValueError, TypeError) as error:
        raise StoreError(f"{path} is no backup, or not whole: {error}") from error
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}") from error
