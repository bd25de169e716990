"""Is the service well? For machines that ask every few seconds."""

from typing import Annotated

from fastapi import APIRouter, Response

from api.identity import GuardedRoute, Identity, needs, open_to_all
from api.metrics import CONTENT_TYPE
from api.problems import Refusal, responses
from api.schemas.house import Alive, Ready
from api.wiring import TheMetrics, TheStore
from rackproof.errors import StoreError
from rackproof.model.service import Role
from rackproof.store.schema import HEAD

#: Outside of /api/v1: these addresses are what every monitoring system asks by default.
router = APIRouter(tags=["house"], route_class=GuardedRoute)


@router.get("/healthz", dependencies=[open_to_all])
async def get_health() -> Alive:
    """The process lives."""
    return Alive(status="alive")


@router.get("/readyz", dependencies=[open_to_all])
def get_readiness(store: TheStore) -> Ready:
    """The database answers and its schema is the one that this version knows. Whether a worker lives is told, but does not count."""
    try:
        found = store.browse.revision()
        workers = store.browse.census().workers if found == HEAD else 0
    except StoreError:
        raise Refusal(503, "the database does not answer", {"Retry-After": "5"}, "store-unavailable") from None
    if found != HEAD:
        raise Refusal(503, f"expected the schema {HEAD}, found {found or 'none'}", {"Retry-After": "5"}, "schema")
    return Ready(status="ready", workers_alive=workers)


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"description": "Prometheus text.", "content": {CONTENT_TYPE: {"schema": {"type": "string"}}}}, **responses(401, 403)},
)
def get_metrics(metrics: TheMetrics, _who: Annotated[Identity, needs(Role.VIEWER)]) -> Response:
    """Figures for Prometheus, which signs in as everybody does: a viewer's token in its `authorization` section."""
    return Response(metrics.text(), media_type=CONTENT_TYPE)
