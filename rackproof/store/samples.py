"""How raw samples are kept: one Parquet file a trial, whole or not there at all, in a folder or an object store."""

import contextlib
import errno
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from rackproof.errors import NotFound, StoreError
from rackproof.model.campaign import SamplesFile
from rackproof.model.traffic import RECORD_DTYPE, Samples
from rackproof.store import objects

#: A folder, or the URL of an object store (s3://bucket/prefix).
Place = Path | str

#: Unit and meaning of each column, kept in the file for whoever reads it without us.
COLUMNS = {
    "tx_ns": ("ns", "when the frame was sent, CLOCK_REALTIME"),
    "rx_ns": ("ns", "when the frame arrived, CLOCK_REALTIME"),
    "sequence": ("1", "number of the frame within its stream"),
    "stream": ("1", "number of the stream"),
    "frame_bytes": ("byte", "frame size, FCS and tags included"),
    "port": ("1", "number of the port that received it"),
    "pcp": ("1", "VLAN priority as received; 255: untagged"),
}
# Times and sequence numbers grow by little from row to row; the others have few values.
_GROWING = ("tx_ns", "rx_ns", "sequence")
_ROWS_PER_GROUP = 100_000


def write(place: Place, campaign: int, trial: int, samples: Samples) -> SamplesFile:
    """Store the samples of a trial; an earlier file of the same trial is replaced. Raises StoreError, leaving no file."""
    relative = Path(str(campaign)) / f"{trial}.parquet"
    what = f"the samples of trial {trial} of campaign {campaign} could not be stored"
    sha256 = (
        _write_folder(place / relative, what, campaign, trial, samples)
        if isinstance(place, Path)
        else _write_object(place, str(relative), what, campaign, trial, samples)
    )
    return SamplesFile(path=str(relative), sha256=sha256, rows=len(samples))


def read(place: Place, file: SamplesFile) -> Samples:
    """The samples that were stored. Raises StoreError where the file is gone or is not what was written."""
    return Samples(**columns(place, file, COLUMNS))


def columns(place: Place, file: SamplesFile, names: Iterable[str]) -> dict[str, Any]:
    """Some columns of the samples that were stored, in order of arrival. Raises StoreError as read() does."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _verified(place, file) as path, pq.ParquetFile(path) as stored:
        found = {name: _column(stored, name) for name in names}
    # Arrow keeps what it freed; ten million samples leave no room for that.
    pa.default_memory_pool().release_unused()
    return found


def size(place: Place, path: str) -> int:
    """How long a file of samples is [byte]; path as SamplesFile has it. Raises NotFound, StoreError."""
    if not isinstance(place, Path):
        return objects.size(place, path)
    with _found(place / path):
        return (place / path).stat().st_size


def read_range(place: Place, path: str, start: int, length: int) -> bytes:
    """Bytes of a file of samples from start on, fewer where it ends before. Raises NotFound, StoreError."""
    if not isinstance(place, Path):
        return objects.read_range(place, path, start, length)
    with _found(place / path), (place / path).open("rb") as source:
        source.seek(start)
        return source.read(max(0, length))


def delete(place: Place, path: str) -> None:
    """Remove a file of samples; one that is not there is no error. Raises StoreError."""
    if not isinstance(place, Path):
        objects.delete(place, path)
        return
    with _translated(f"the samples in {place / path} could not be removed"):
        (place / path).unlink(missing_ok=True)


def _write_folder(final: Path, what: str, campaign: int, trial: int, samples: Samples) -> str:
    # The name is always the same, so that what a killed process left behind is overwritten when the trial runs again.
    part = final.with_name(f".{final.name}.part")
    with _translated(f"{what} in {final.parent}"):
        final.parent.mkdir(parents=True, exist_ok=True)
        try:
            sha256 = _write(part, campaign, trial, samples)
            part.replace(final)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        _sync_folder(final.parent)
    return sha256


def _write_object(url: str, path: str, what: str, campaign: int, trial: int, samples: Samples) -> str:
    with _translated(f"{what} in {url}"), tempfile.TemporaryDirectory(prefix="rackproof-") as folder:
        part = Path(folder) / "samples.parquet"
        sha256 = _write(part, campaign, trial, samples)
        objects.put(url, path, part)
    return sha256


@contextlib.contextmanager
def _verified(place: Place, file: SamplesFile) -> Iterator[Path]:
    """A file on this machine, a copy where samples are objects, that is what was written."""
    where = place / file.path if isinstance(place, Path) else f"{place}/{file.path}"
    with _translated(f"the samples in {where} could not be read"), contextlib.ExitStack() as stack:
        if isinstance(place, Path):
            path = place / file.path
            with path.open("rb") as source:
                found = hashlib.file_digest(source, "sha256").hexdigest()
        else:
            copy = stack.enter_context(tempfile.NamedTemporaryFile(prefix="rackproof-"))
            path = Path(copy.name)
            try:
                found = objects.copy_to(place, file.path, copy.file)
            except NotFound as error:
                raise StoreError(f"the samples in {where} could not be read: {error}") from error
        if found != file.sha256:
            raise StoreError(f"the samples in {where} were changed: expected SHA-256 {file.sha256}, found {found}")
        yield path


@contextlib.contextmanager
def _found(path: Path) -> Iterator[None]:
    with _translated(f"the samples in {path} could not be read"):
        try:
            yield
        except FileNotFoundError as error:
            raise NotFound(f"there are no samples in {path}") from error


def _column(stored: Any, name: str) -> Any:
    """One column, filled group by group: at no time does the file exist in memory beside the array.

    A column of one value throughout (a port, often the frame size) is a read-only view of that value and takes no memory.
    """
    at = stored.schema_arrow.get_field_index(name)
    known = [stored.metadata.row_group(group).column(at).statistics for group in range(stored.num_row_groups)]
    if known and all(of_group is not None and of_group.has_min_max for of_group in known):
        values = {value for of_group in known for value in (of_group.min, of_group.max)}
        if len(values) == 1:
            return np.broadcast_to(np.array(values.pop(), RECORD_DTYPE[name]), stored.metadata.num_rows)
    array: Any = np.empty(stored.metadata.num_rows, RECORD_DTYPE[name])
    start = 0
    for group in range(stored.num_row_groups):
        part = stored.read_row_group(group, columns=[name], use_threads=False).column(name).to_numpy()
        array[start : start + len(part)] = part
        start += len(part)
    return array


def _write(path: Path, campaign: int, trial: int, samples: Samples) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [column.name for column in fields(samples)]
    schema = pa.schema(
        [
            pa.field(
                name,
                pa.from_numpy_dtype(RECORD_DTYPE[name]),
                nullable=False,
                metadata=dict(zip(("unit", "meaning"), COLUMNS[name], strict=True)),
            )
            for name in names
        ],
        metadata={"rackproof.campaign": str(campaign), "rackproof.trial": str(trial), "rackproof.format": "1"},
    )
    with path.open("wb") as sink:
        with pq.ParquetWriter(
            sink,
            schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=[name for name in names if name not in _GROWING],
            column_encoding=dict.fromkeys(_GROWING, "DELTA_BINARY_PACKED"),
        ) as writer:
            for start in range(0, max(len(samples), 1), _ROWS_PER_GROUP):
                rows = slice(start, start + _ROWS_PER_GROUP)
                arrays = [np.ascontiguousarray(getattr(samples, name)[rows]) for name in names]
                writer.write_table(pa.Table.from_arrays([pa.array(array) for array in arrays], schema=schema))
        sink.flush()
        os.fsync(sink.fileno())
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _translated(what: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except OSError as error:
        why = "the disk is full; free some space there" if error.errno in {errno.ENOSPC, errno.EDQUOT} else error.strerror or str(error)
        raise StoreError(f"{what}: {why}") from error
    except pa.ArrowException as error:
        raise StoreError(f"{what}: {error}") from error
