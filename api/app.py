"""The application: every route of the API on one store."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from anyio import to_thread
from fastapi import FastAPI

import api.accounts
from api import openapi, problems, tracing
from api.bounds import Bounds
from api.following import Hub
from api.metrics import PREFIX, Metrics
from api.requests import Requests
from api.routes import house, routers
from rackproof.settings import Settings
from rackproof.store import Store

#: How many requests are worked on at once; others wait for their turn. The store's pool has as many connections.
THREADS = 12


def create_app(settings: Settings, store: Store) -> FastAPI:
    """The application on an open store, which stays the caller's to close.

    app.state.hub.close() ends every stream of events: a server that wants to stop calls it first, or bounds its wait for open requests.
    """
    metrics = Metrics(store)
    hub = Hub(store, metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # More threads than connections would only wait for one, and take turns doing so.
        to_thread.current_default_thread_limiter().total_tokens = THREADS
        try:
            yield
        finally:
            hub.close()
            tracing.close(app)

    app = FastAPI(
        title="Rackproof",
        summary="Proof of what is in the rack.",
        description=openapi.DESCRIPTION,
        version=version("rackproof"),
        openapi_url=f"{PREFIX}/openapi.json",
        # The pages of FastAPI load their scripts from elsewhere, and laboratories have no internet.
        docs_url=None,
        redoc_url=None,
        openapi_tags=openapi.TAGS,
        generate_unique_id_function=openapi.operation_id,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.settings, app.state.store, app.state.hub, app.state.metrics = settings, store, hub, metrics
    app.include_router(api.accounts.router, prefix=PREFIX)
    for router in routers():
        app.include_router(router, prefix=PREFIX)
    app.include_router(house.router)
    problems.install(app)
    openapi.install(app)
    app.add_middleware(Bounds)
    app.add_middleware(Requests, metrics=metrics)
    tracing.install(app, settings)
    return app
