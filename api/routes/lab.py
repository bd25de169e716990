"""Which testbeds and workers are there, what waits for them, and who keeps one?"""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from api import plans
from api.identity import GuardedRoute, Identity, needs
from api.problems import Refusal, responses
from api.schemas.lab import (
    HealthCheck,
    NewReservation,
    Place,
    Queue,
    Reservation,
    Reservations,
    Testbed,
    Testbeds,
    TestbedStateChange,
    Worker,
    Workers,
)
from api.wiring import Number, TheStore
from rackproof.model.service import Role
from rackproof.store.cron import check

router = APIRouter(tags=["testbeds"], route_class=GuardedRoute)

Viewer = Annotated[Identity, needs(Role.VIEWER)]
Engineer = Annotated[Identity, needs(Role.ENGINEER)]
Admin = Annotated[Identity, needs(Role.ADMIN)]
Name = Annotated[str, Path(max_length=200, examples=["bench"])]


@router.get("/testbeds", responses=responses(401, 403))
def list_testbeds(store: TheStore, _who: Viewer) -> Testbeds:
    """All testbeds."""
    return Testbeds(items=[Testbed.model_validate(one) for one in store.testbeds.list()])


@router.get("/testbeds/{testbed}", responses=responses(401, 403, 404))
def get_testbed(store: TheStore, _who: Viewer, testbed: Name) -> Testbed:
    """One testbed."""
    return Testbed.model_validate(store.testbeds.get(testbed))


@router.put("/testbeds/{testbed}/state", responses=responses(400, 401, 403, 404))
def set_testbed_state(store: TheStore, who: Admin, testbed: Name, asked: TestbedStateChange) -> Testbed:
    """Take a testbed offline, so that its queue waits, or bring it back."""
    with who.does(store, "testbed.state", f"testbed {testbed}", state=asked.state.value, reason=asked.reason):
        store.testbeds.set_state(testbed, asked.state, asked.reason)
    return Testbed.model_validate(store.testbeds.get(testbed))


@router.put("/testbeds/{testbed}/health-check", responses=responses(400, 401, 403, 404))
def set_testbed_health_check(store: TheStore, who: Admin, testbed: Name, asked: HealthCheck) -> Testbed:
    """Set the plan that shows that a testbed is well, and when it runs. Where it does not PASS, the testbed goes offline."""
    if (asked.plan is None) != (asked.cron is None):
        raise Refusal(422, "expected both a plan and a cron expression, or neither", kind="request")
    if asked.plan is not None:
        planned = plans.read(asked.plan.encode(), "the health check's plan").plan.testbed
        if planned != testbed:
            raise Refusal(422, f"expected a plan for the testbed {testbed}, found one for {planned}", kind="request")
        check(asked.cron or "", asked.zone, "the health check")
    with who.does(store, "testbed.health_check", f"testbed {testbed}", cron=asked.cron, zone=asked.zone):
        store.testbeds.set_golden(testbed, asked.plan, asked.cron, asked.zone)
    return Testbed.model_validate(store.testbeds.get(testbed))


@router.get("/workers", responses=responses(401, 403))
def list_workers(store: TheStore, _who: Viewer) -> Workers:
    """All workers, those that are gone included."""
    return Workers(items=[Worker.model_validate(one) for one in store.workers.list()])


@router.post("/workers/{worker}/adopt", status_code=204, response_class=Response, responses=responses(401, 403, 404, 409))
def adopt_from_worker(store: TheStore, who: Admin, worker: Name) -> None:
    """Take a worker for dead: others adopt its campaigns at once. Should it still live, it can write nothing more."""
    with who.does(store, "worker.adopt", f"worker {worker}"):
        store.workers.declare_dead(worker)


@router.get("/queue", responses=responses(401, 403, 404))
def get_queue(store: TheStore, _who: Viewer, testbed: Annotated[str | None, Query(max_length=200)] = None) -> Queue:
    """What has a testbed or waits for one, with positions and expected starts."""
    if testbed is not None:
        store.testbeds.get(testbed)  # raises where there is none
    return Queue(items=[Place.model_validate(one) for one in store.queue.forecast(testbed)])


@router.get("/reservations", responses=responses(401, 403))
def list_reservations(
    store: TheStore,
    _who: Viewer,
    testbed: Annotated[str | None, Query(max_length=200)] = None,
    past: Annotated[bool, Query(description="Those that have ended, the latest first.")] = False,
) -> Reservations:
    """Reservations that have not ended, the next first."""
    return Reservations(items=[Reservation.model_validate(one) for one in store.reservations.list(testbed, past)])


@router.get("/reservations/{reservation}", responses=responses(401, 403, 404))
def get_reservation(store: TheStore, _who: Viewer, reservation: Number) -> Reservation:
    """One reservation."""
    return Reservation.model_validate(store.reservations.get(reservation))


@router.post("/reservations", status_code=201, responses=responses(400, 401, 403, 404, 409))
def reserve_testbed(store: TheStore, who: Engineer, asked: NewReservation) -> Reservation:
    """Keep a testbed; nothing else starts on it meanwhile."""
    if asked.starts is not None and asked.starts >= asked.ends:
        raise Refusal(422, f"expected an end after the start, found {asked.ends.isoformat()}", kind="request")
    with who.does(store, "reservation.make", ends=asked.ends.isoformat(), testbed=asked.testbed) as deed:
        number = store.reservations.reserve(
            testbed=asked.testbed,
            user_id=who.user.id,
            owner=who.user.name,
            reason=asked.reason,
            starts=asked.starts,
            ends=asked.ends,
        )
        deed.target = f"reservation {number}"
    return Reservation.model_validate(store.reservations.get(number))


@router.delete("/reservations/{reservation}", status_code=204, response_class=Response, responses=responses(401, 403, 404, 409))
def release_reservation(store: TheStore, who: Engineer, reservation: Number) -> None:
    """Give a testbed back: one's own reservation, or, as admin, anybody's."""
    found = store.reservations.get(reservation)
    if found.user_id != who.user.id and not who.may(Role.ADMIN):
        raise Refusal(403, f"expected {found.owner or 'its owner'} or an admin, found {who.user.name}")
    with who.does(store, "reservation.release", f"reservation {reservation}"):
        store.reservations.release(reservation)
