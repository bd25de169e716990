"""Which workers are there, and which of them live?"""

import builtins
import os
import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

import rackproof
from rackproof.errors import Conflict, LeaseLost, NotFound
from rackproof.store import leases, life, moves
from rackproof.store.schema import Campaign
from rackproof.store.schema_service import Worker
from rackproof.store.transactions import WORK, Transactions, notify

#: How the names of processes begin that run a campaign for the command line, beside the queue.
LOCAL = "local-"


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerRecord:
    """A worker. host: the machine's name; alive: as far as the database and this machine know; campaigns: those that it runs."""

    name: str
    host: str
    version: str
    testbeds: tuple[str, ...]
    started: datetime
    seen: datetime
    alive: bool
    campaigns: tuple[int, ...]


class Workers:
    """Which workers are there, and which of them live?"""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def list(self) -> builtins.list[WorkerRecord]:
        """All workers by name."""
        with self._transactions.reading("the workers could not be read") as connection:
            alive = life.living(connection)
            running = defaultdict(list)
            mine = select(Campaign.incarnation, Campaign.id).where(moves.IS_RUNNING).order_by(Campaign.id)
            for row in connection.execute(mine):
                running[row.incarnation].append(row.id)
            return [
                WorkerRecord(
                    name=row.name,
                    host=row.host.partition(" ")[0],
                    version=row.version,
                    testbeds=tuple(row.testbeds),
                    started=row.started,
                    seen=row.seen,
                    alive=row.incarnation in alive,
                    campaigns=tuple(running[row.incarnation]),
                )
                for row in connection.execute(select(*Worker.__table__.columns).order_by(Worker.name))
            ]

    def declare_dead(self, name: str) -> None:
        """Let others adopt what the worker has, at once; one that lives after all stops when it notices. Raises NotFound."""
        with self._transactions.step(f"worker {name} could not be declared dead") as connection:
            dead = update(Worker).where(Worker.name == name).values(expires=func.clock_timestamp()).returning(Worker.name)
            if connection.scalar(dead) is None:
                raise NotFound(f"there is no worker {name!r}")
            notify(connection, WORK, "queue")

    # --- what a worker itself calls ---

    def register(self, name: str, testbeds: Sequence[str], timeout_s: float) -> str:
        """Begin as a worker; the incarnation. Raises Conflict where a living process has that name."""
        incarnation = str(uuid.uuid4())
        pid = os.getpid()
        values = {
            "incarnation": incarnation,
            "host": life.this_host(),
            "pid": pid,
            "pid_started": life.started(pid) or 0,
            "version": rackproof.__version__,
            "testbeds": [*testbeds],
            "started": func.clock_timestamp(),
            "seen": func.clock_timestamp(),
            "expires": func.clock_timestamp() + timedelta(seconds=timeout_s),
            "stopped": None,
        }
        with self._transactions.step(f"worker {name} could not begin") as connection:
            leases.lock(connection)
            found = connection.execute(select(Worker.incarnation, Worker.host, Worker.pid).where(Worker.name == name)).one_or_none()
            if found is not None and found.incarnation in life.living(connection) and (found.host, found.pid) != (life.this_host(), pid):
                where = found.host.partition(" ")[0]
                raise Conflict(f"worker {name} runs already: process {found.pid} on {where}; give this one another name")
            connection.execute(insert(Worker).values(name=name, **values).on_conflict_do_update(index_elements=[Worker.name], set_=values))
            old = func.clock_timestamp() - timedelta(days=1)
            connection.execute(delete(Worker).where(Worker.name.startswith(LOCAL), Worker.expires < old))
            notify(connection, WORK, "queue")
        return incarnation

    def renew(self, incarnation: str, timeout_s: float) -> dict[int, str]:
        """Live on for a while; the campaigns of this worker that somebody wants to end, and why. Raises LeaseLost where it is too late."""
        with self._transactions.step("the worker could not say that it lives") as connection:
            now = func.clock_timestamp()
            alive = (Worker.incarnation == incarnation, Worker.expires > now)
            until = now + timedelta(seconds=timeout_s)
            if connection.scalar(update(Worker).where(*alive).values(seen=now, expires=until).returning(Worker.name)) is None:
                raise LeaseLost("this worker was not heard of in time, or was declared dead: others may have adopted its campaigns")
            wanted = select(Campaign.id, Campaign.cancel).where(
                moves.IS_RUNNING, Campaign.incarnation == incarnation, Campaign.cancel.is_not(None)
            )
            return {row.id: row.cancel for row in connection.execute(wanted)}

    def stop(self, incarnation: str) -> None:
        """Say that this worker ends: what it leaves undone may be adopted at once. A process of the command line is forgotten."""
        with self._transactions.step("the worker could not say that it ends") as connection:
            now = func.clock_timestamp()
            connection.execute(update(Worker).where(Worker.incarnation == incarnation).values(expires=now, stopped=now))
            connection.execute(delete(Worker).where(Worker.incarnation == incarnation, Worker.name.startswith(LOCAL)))
            notify(connection, WORK, "queue")
