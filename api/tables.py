"""How do measurements become CSV and Parquet? Some thousand rows at a time, so that no campaign is too large."""

import csv as csv_format
import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from rackproof.store.browse_rows import MeasurementRow

CSV = "text/csv"
PARQUET = "application/vnd.apache.parquet"

_COLUMNS = ("trial", "position", "name", "unit", "subject", "value", "n", "low", "high", "confidence", "method")
#: What a spreadsheet would take for a formula at the beginning of a cell.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv(lots: Iterable[list[MeasurementRow]]) -> Iterator[bytes]:
    """CSV (RFC 4180) with a header; subject as JSON, infinity as inf, what does not exist as nothing."""
    yield (",".join(_COLUMNS) + "\r\n").encode()
    for rows in lots:
        text = io.StringIO()
        writer = csv_format.writer(text)
        for row in rows:
            writer.writerow([_cell(getattr(row, name)) for name in _COLUMNS])
        yield text.getvalue().encode("utf-8", "replace")


def parquet(lots: Iterable[list[MeasurementRow]]) -> Iterator[bytes]:
    """A Parquet file (zstd); subject as JSON, so that every campaign's file has the same columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(
        [
            ("trial", pa.int32()),
            ("position", pa.int32()),
            ("name", pa.dictionary(pa.int32(), pa.string())),
            ("unit", pa.dictionary(pa.int32(), pa.string())),
            ("subject", pa.dictionary(pa.int32(), pa.string())),
            ("value", pa.float64()),
            ("n", pa.int64()),
            ("low", pa.float64()),
            ("high", pa.float64()),
            ("confidence", pa.float64()),
            ("method", pa.dictionary(pa.int32(), pa.string())),
        ]
    )
    sink = _Sink()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for rows in lots:
            columns = {name: [_value(getattr(row, name)) for row in rows] for name in _COLUMNS}
            writer.write_table(pa.Table.from_pydict(columns, schema=schema))
            yield sink.taken()
    yield sink.taken()


class _Sink(io.RawIOBase):
    """A file that is read while it is written; it goes on counting from its beginning, for Parquet's footer names places in it."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []
        self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        part = bytes(content)
        self._parts.append(part)
        self._written += len(part)
        return len(part)

    def tell(self) -> int:
        return self._written

    def taken(self) -> bytes:
        """What was written since the last time."""
        content = b"".join(self._parts)
        self._parts.clear()
        return content


def _value(value: Any) -> Any:
    return json.dumps(value, sort_keys=True, ensure_ascii=False) if isinstance(value, dict) else value


def _cell(value: Any) -> Any:
    cell = "" if value is None else _value(value)
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
