"""The whole site: the API, the pages, and what they load."""

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from api.app import create_app
from rackproof.settings import Settings
from rackproof.store import Store
from web import errors, fonts, palette
from web.pages import routers
from web.rendering import STATIC


def create_site(settings: Settings, store: Store) -> FastAPI:
    """The application on an open store, which stays the caller's to close."""
    app = create_app(settings, store)
    for router in routers():
        app.include_router(router, include_in_schema=False)
    app.include_router(palette.router, include_in_schema=False)
    app.include_router(fonts.router, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    errors.install(app)
    return app
