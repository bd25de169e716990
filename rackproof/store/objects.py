"""How are files kept in an object store (S3 and what speaks like it, a folder, memory), whole or not at all?"""

import functools
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rackproof.errors import NotFound, StoreError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_TIMEOUT = timedelta(seconds=60)
_RETRIES = 5
_CHUNK_BYTES = 8 * 1024 * 1024


def put(url: str, path: str, source: Path) -> None:
    """Store a file under a path; an earlier one is replaced. Readers see the old one or the new one, never half. Raises StoreError."""
    import obstore

    with _translated(f"{url}/{path} could not be stored"):
        obstore.put(_store(url), path, source)


def copy_to(url: str, path: str, sink: IO[bytes]) -> str:
    """Copy an object into a file; its SHA-256 (hex). Raises NotFound, StoreError."""
    import obstore

    found = hashlib.sha256()
    with _translated(f"{url}/{path} could not be read"):
        for chunk in obstore.get(_store(url), path).stream(min_chunk_size=_CHUNK_BYTES):
            found.update(chunk)
            sink.write(chunk)
    sink.flush()
    return found.hexdigest()


def size(url: str, path: str) -> int:
    """How long an object is [byte]. Raises NotFound, StoreError."""
    import obstore

    with _translated(f"{url}/{path} could not be read"):
        return int(obstore.head(_store(url), path)["size"])


def read_range(url: str, path: str, start: int, length: int) -> bytes:
    """Bytes of an object from start on, fewer where it ends before. Raises NotFound, StoreError."""
    import obstore

    length = min(length, size(url, path) - start)
    if length <= 0:
        return b""
    with _translated(f"{url}/{path} could not be read"):
        return bytes(obstore.get_range(_store(url), path, start=start, length=length))


def delete(url: str, path: str) -> None:
    """Remove an object; one that is not there is no error. Raises StoreError."""
    import obstore

    with _translated(f"{url}/{path} could not be removed"):
        try:
            obstore.delete(_store(url), path)
        except FileNotFoundError:
            return


def folders(url: str) -> list[str]:
    """The first parts of the paths that there are. Raises StoreError."""
    import obstore

    with _translated(f"{url} could not be listed"):
        found = obstore.list_with_delimiter(_store(url))
        return [str(prefix).rstrip("/").rpartition("/")[2] for prefix in found["common_prefixes"]]


@functools.lru_cache(maxsize=8)
def _store(url: str) -> "ObjectStore":
    """Credentials of s3:// come from the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL, AWS_REGION, ...)."""
    from obstore.store import LocalStore, MemoryStore, from_url

    scheme, _, rest = url.partition("://")
    match scheme:
        case "memory":
            return MemoryStore()
        case "file":
            return LocalStore(rest, mkdir=True)
        case _:
            options: Any = {"timeout": _TIMEOUT, "allow_http": True}
            return from_url(url, client_options=options, retry_config={"max_retries": _RETRIES, "retry_timeout": _TIMEOUT})


@contextmanager
def _translated(what: str) -> Iterator[None]:
    from obstore.exceptions import BaseError

    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(f"{what}: there is no such object") from error
    except (BaseError, OSError, ValueError) as error:
        # The library's messages go on for pages; what went wrong is in the first line.
        raise StoreError(f"{what}: {str(error).strip().splitlines()[0]}") from error
