"""Is a planted secret found where none may be? In files (also packed ones), texts, the database, what processes were started with."""

import base64
import gzip
import io
import json
import os
import shlex
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

import polars as pl
import psutil
import psycopg
from psycopg import sql
from pypdf import PdfReader


def forms(secret: str) -> list[bytes]:
    """The secret as it may stand somewhere: plain, escaped, quoted, encoded."""
    raw = secret.encode()
    texts = {
        secret,
        json.dumps(secret)[1:-1],
        repr(secret)[1:-1],
        shlex.quote(secret),
        quote(secret, safe=""),
        raw.hex(),
        raw.hex().upper(),
    }
    texts |= {base64.b64encode(raw).decode(), base64.b64encode(raw).decode().rstrip("=")}
    return [*(text.encode() for text in texts), secret.encode("utf-16-le")]


def leaks(
    secret: str,
    *,
    folders: Iterable[Path] = (),
    texts: Mapping[str, str] | None = None,
    database_url: str | None = None,
    processes: Iterable[int] = (),
) -> list[str]:
    """Where the secret stands, empty where it stands nowhere.

    folders: every file below them, unpacked where it is packed (gzip, zip, PDF, Parquet). texts: by what they are called. database_url:
    every row of every table. processes: process ids, whose command lines and environments, and those of all below them, are read.
    """
    wanted = forms(secret)
    found = [f"text {name}" for name, text in (texts or {}).items() if _stands(wanted, text.encode())]
    for folder in folders:
        # What goes while it is looked at is passed over.
        files = [Path(top) / name for top, _, names in os.walk(folder) for name in names]
        files = [path for path in files if path.is_file() and not path.is_symlink()]
        found += [f"file {path}" for path in files if any(_stands(wanted, part) for part in _parts(path))]
    for pid in processes:
        for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
            started = Path(f"/proc/{process.pid}")
            found += [f"{name} of a process" for name in ("cmdline", "environ") if _stands(wanted, _read(started / name))]
    return found + (_rows(wanted, database_url) if database_url is not None else [])


def _stands(wanted: list[bytes], content: bytes) -> bool:
    return any(form in content for form in wanted)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # gone, as files and processes go
        return b""


def _parts(path: Path) -> list[bytes]:
    """The content of a file, and what is packed in it."""
    content = _read(path)
    if content.startswith(b"\x1f\x8b"):
        return [content, gzip.decompress(content)]
    if content.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            return [content, *(packed.read(name) for name in packed.namelist())]
    if content.startswith(b"%PDF"):
        return [content, *(page.extract_text().encode() for page in PdfReader(io.BytesIO(content)).pages)]
    if content.startswith(b"PAR1"):
        return [content, pl.read_parquet(io.BytesIO(content)).write_ndjson().encode()]
    return [content]


def _rows(wanted: list[bytes], database_url: str) -> list[str]:
    found = []
    with psycopg.connect(database_url.replace("+psycopg", "", 1)) as connection:
        tables = connection.execute(
            "SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        for schema, table in tables:
            rows = connection.execute(sql.SQL("SELECT t::text FROM {} AS t").format(sql.Identifier(schema, table)))
            found += [f"table {schema}.{table}" for (text,) in rows if text and _stands(wanted, text.encode())]
    return found
