"""How a database is reached, brought up to date, and what its errors mean."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from rackproof.errors import StoreAway, StoreError
from rackproof.store.schema import HEAD

_SERVER_VERSION_MIN = 15
_IDLE_MS = 30_000
_MIGRATION_LOCK = 0x5250_0000_0000_0000


def connect(url: str) -> Engine:
    """An engine whose sessions speak UTC and whose server notices within a minute that this machine is gone."""
    keepalives = "-c timezone=UTC -c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
    # A process that is frozen in the middle of a transaction must not keep its locks: others would wait for them for ever.
    keepalives += f" -c idle_in_transaction_session_timeout={_IDLE_MS}"
    return create_engine(
        url,
        pool_size=4,
        max_overflow=8,
        pool_timeout=30,
        pool_pre_ping=True,
        connect_args={
            "options": keepalives,
            "connect_timeout": 10,
            "keepalives_idle": 30,
            "keepalives_interval": 10,
            "keepalives_count": 3,
            "application_name": f"rackproof {os.getpid()} on {socket.gethostname()}"[:63],
        },
    )


def migrate(engine: Engine) -> None:
    """Bring the schema up to date; several processes may do so at once. Raises StoreError."""
    with translated("the database cannot be opened"), engine.begin() as connection:
        version = int(connection.scalar(text("SHOW server_version_num")) or 0) // 10_000
        if version < _SERVER_VERSION_MIN:
            raise StoreError(f"the database is PostgreSQL {version}: expected {_SERVER_VERSION_MIN} or newer")
        if _revision(connection) == HEAD:
            return
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
        found = _revision(connection)
        if found != HEAD:
            _upgrade(connection, found)


def _revision(connection: Connection) -> str | None:
    if connection.scalar(text("SELECT to_regclass('alembic_version')")) is None:
        return None
    revision: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return revision


def _upgrade(connection: Connection, found: str | None) -> None:
    from alembic import command  # a database that is up to date does not wait for its import
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found is not None and found not in known:
        raise StoreError(f"the database was made by a newer Rackproof (schema {found}, this one knows {HEAD}): update Rackproof")
    command.upgrade(config, HEAD)


@contextmanager
def translated(what: str, why_down: Callable[[], str] | None = None) -> Iterator[None]:
    """Turn what the database raises into a StoreError that begins with `what` and says why: StoreAway where it may work later.

    why_down tells why the server is gone, where the connection was lost and the server is ours to ask.
    """
    try:
        yield
    except DBAPIError as error:
        cause, lost = error.orig, error.connection_invalidated
        raise _class(cause, lost)(f"{what}: {_why(cause, lost, why_down)}") from error
    except (psycopg.Error, SQLAlchemyError) as error:
        raise _class(error, isinstance(error, PoolTimeout))(f"{what}: {_why(error, False, why_down)}") from error


def _class(error: BaseException | None, lost: bool) -> type[StoreError]:
    if lost or isinstance(error, psycopg.errors.DiskFull):
        return StoreAway
    return StoreAway if isinstance(error, psycopg.OperationalError) and _passing(error) else StoreError


def _passing(error: psycopg.OperationalError) -> bool:
    # None: there was no server to ask. 08: the connection; 57P: it shuts down or starts; 53: it has no room; 25P03: we were idle too long.
    state = error.sqlstate
    return state is None or state == "25P03" or state.startswith(("08", "57P", "53"))


def _why(error: BaseException | None, lost: bool, why_down: Callable[[], str] | None) -> str:
    match error:
        case psycopg.errors.DiskFull():
            return "the disk of the database is full; free some space there"
        case psycopg.errors.InsufficientPrivilege():
            return f"the database refused: {_sentence(error)}"
        case psycopg.OperationalError() if lost or error.sqlstate is None:
            said = why_down() if why_down is not None else ""
            return f"no connection to the database ({said or _sentence(error)})"
        case _:
            return _sentence(error)


def _sentence(error: BaseException | None) -> str:
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return primary or " ".join(str(error).split()) or type(error).__name__
