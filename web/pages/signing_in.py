"""Signing in, and the first account."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from api.identity import GuardedRoute, open_to_all
from api.wiring import TheSettings, TheStore
from web.rendering import page

router = APIRouter(route_class=GuardedRoute, dependencies=[open_to_all])


@router.get("/sign-in")
def sign_in(request: Request, store: TheStore, settings: TheSettings, next: str = "/") -> Response:  # noqa: A002  # as it stands in the address
    if store.accounts.is_empty():
        return RedirectResponse("/setup", 303)
    return page(request, "sign_in.html.j2", target=local(next), oidc=settings.oidc_issuer is not None)


@router.get("/setup")
def setup(request: Request, store: TheStore) -> Response:
    if not store.accounts.is_empty():
        return RedirectResponse("/sign-in", 303)
    return page(request, "setup.html.j2")


def local(target: str) -> str:
    """A path of this site; whatever else was asked for becomes the home page."""
    safe = target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable()
    return target if safe else "/"
