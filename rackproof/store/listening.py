"""What did others do to the database just now? LISTEN on a connection of its own."""

import os
import select
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import psycopg
from psycopg import sql
from sqlalchemy import make_url

_RETRY_S = 0.5


class Listener:
    """A context manager that listens on channels. One thread at a time may wait; the connection is made again where it is lost."""

    def __init__(self, url: str, channels: Sequence[str]) -> None:
        self._conninfo = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        self._channels = tuple(channels)
        self._connection: psycopg.Connection | None = None
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        # A signal handler may want to ring while its own thread does.
        self._ringing = threading.RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening for good."""
        self._drop()
        with self._ringing:
            bell, self._bell = self._bell, -1
            if bell >= 0:
                os.close(bell)

    def wake(self) -> None:
        """Let wait() return now, from any thread or a signal handler; does nothing once it is closed."""
        with self._ringing:
            if self._bell >= 0:
                os.eventfd_write(self._bell, 1)

    def wait(self, timeout_s: float) -> list[tuple[str, str]]:
        """(channel, payload) of what was told, as soon as there is something; [] after the timeout or wake().

        After a connection was made, each channel comes with the payload "": something may have been missed.
        """
        deadline = time.monotonic() + timeout_s
        connection = self._connection
        try:
            if connection is None:
                self._connect()
                return [(channel, "") for channel in self._channels]
            told = self._told(connection)
            while not told:
                left = deadline - time.monotonic()
                if left <= 0 or self._woken(max(0.0, left), connection):
                    break
                told = self._told(connection)
            return told
        except (psycopg.Error, OSError):
            self._drop()
            self._woken(max(0.0, min(_RETRY_S, deadline - time.monotonic())))
            return []

    def _told(self, connection: psycopg.Connection) -> list[tuple[str, str]]:
        return [(note.channel, note.payload) for note in connection.notifies(timeout=0)]

    def _woken(self, timeout_s: float, connection: psycopg.Connection | None = None) -> bool:
        """Wait for the connection or the bell; True where it was the bell."""
        sources = [self._bell] if connection is None else [self._bell, connection.fileno()]
        ready, _, _ = select.select(sources, [], [], timeout_s)
        if self._bell in ready:
            os.eventfd_read(self._bell)
            return True
        return False

    def _connect(self) -> None:
        self._connection = psycopg.connect(
            self._conninfo,
            autocommit=True,
            connect_timeout=5,
            keepalives_idle=30,
            keepalives_interval=10,
            keepalives_count=3,
            application_name="rackproof listening",
        )
        for channel in self._channels:
            self._connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
