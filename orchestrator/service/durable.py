"""How does a campaign outlive its process? DBOS runs it as a workflow whose steps are the trials; here is all that knows of DBOS.

DBOS is launched with the first campaign and shut down when there has been none for a while: it polls the database as long as it is there.
"""

import logging
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import structlog
from dbos import DBOS, SetWorkflowID
from sqlalchemy.exc import SQLAlchemyError

from orchestrator.campaign import Abandoned
from rackproof.errors import LeaseLost, StoreAway

log = structlog.get_logger()

#: Raise it by hand when the steps of a campaign change: a worker goes on only with workflows of its own version.
VERSION = "campaign-1"
SCHEMA = "dbos"
#: A campaign that was adopted is noticed this fast [s].
QUEUE_POLL_S = 0.5
#: DBOS stays for this long after the last campaign [s].
LINGER_S = 20.0

_runners: dict[int, Callable[[int], None]] = {}
_ENDED = ("SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED")


@DBOS.workflow(name="campaign", max_recovery_attempts=None)
def _campaign(campaign: int, run: int) -> None:  # noqa: ARG001  # the run is part of what the workflow is
    runner = _runners.get(campaign)
    if runner is None:
        raise Abandoned(f"campaign {campaign} is not this worker's own")
    runner(campaign)


def step(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function as a step of the campaign's workflow; a failure of the database is no outcome: the step is done again."""

    def body() -> Any:
        try:
            return function(*arguments)
        except (StoreAway, LeaseLost) as error:
            raise Abandoned(str(error)) from error

    try:
        return DBOS.run_step({"name": name}, body)
    except SQLAlchemyError as error:
        # Of DBOS itself: what the function raises comes from our store, in words.
        raise Abandoned(f"step {name} could not be recorded: {error}") from error


class Durable:
    """Runs campaigns in threads of DBOS. One in a process."""

    def __init__(self, url: str, worker: str) -> None:
        self._url = url
        self._queue = f"worker:{worker}"
        self._lock = threading.RLock()
        self._launched = False
        self._executor = str(uuid.uuid4())
        self._idle_since = time.monotonic()

    def prepare(self) -> None:
        """Bring the tables of DBOS up to date, so that the first campaign need not wait for it."""
        with self._lock:
            self._launch()

    def start(self, campaign: int, run: int, runner: Callable[[int], None]) -> None:
        """Run a campaign from its first step, or go on with it at the step that it was in; returns at once.

        runner(campaign) is called in a thread, within the workflow; it calls step().
        """

        def guarded(number: int) -> None:
            try:
                runner(number)
            finally:
                with self._lock:
                    if _runners.get(number) is guarded:
                        del _runners[number]
                    self._idle_since = time.monotonic()

        with self._lock:
            self._launch()
            workflow = f"campaign-{campaign}-{run}"
            status = DBOS.get_workflow_status(workflow)
            if status is not None and status.status in _ENDED:
                # What it did is stored, and yet the campaign has not ended: it died between the two, or something was wrong with it.
                again = len(DBOS.list_workflows(workflow_id_prefix=f"{workflow}-", load_input=False, load_output=False))
                workflow, status = f"{workflow}-{again + 1}", None
            _runners[campaign] = guarded
            if status is None:
                with SetWorkflowID(workflow):
                    DBOS.start_workflow(_campaign, campaign, run)
            else:
                DBOS.resume_workflow(workflow, queue_name=self._queue)

    def rest(self) -> None:
        """Shut DBOS down where no campaign has run for a while."""
        with self._lock:
            if self._launched and not _runners and time.monotonic() - self._idle_since > LINGER_S:
                self.close()

    def close(self) -> None:
        """Shut DBOS down."""
        with self._lock:
            if self._launched:
                DBOS.destroy()
                self._launched = False

    def _launch(self) -> None:
        if self._launched:
            return
        # Its own handler would print every line a second time; what it says goes where everything goes.
        logger = logging.getLogger("dbos")
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
        logger.propagate = True
        DBOS(
            config={
                "name": "rackproof",
                "system_database_url": self._url,
                "dbos_system_schema": SCHEMA,
                "executor_id": self._executor,
                "application_version": VERSION,
                "sys_db_pool_size": 4,
                # Of a database that is away it would tell several times a second, in every thread; we tell once.
                "log_level": "ERROR",
                "enable_otlp": False,
                # Nobody waits for messages of DBOS: we have our own.
                "use_listen_notify": False,
                "notification_listener_polling_interval_sec": 1.0,
                "scheduler_polling_interval_sec": 3600.0,
            }
        )
        try:
            DBOS.listen_queues([self._queue])
            DBOS.launch()
            DBOS.register_queue(self._queue, polling_interval_sec=QUEUE_POLL_S, on_conflict="always_update")
        except BaseException:
            DBOS.destroy()
            raise
        self._launched = True
        self._idle_since = time.monotonic()
