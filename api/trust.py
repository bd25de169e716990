"""Which parts of a request may be believed: its credentials, its address, and that it was not another site that sent it."""

import hmac
from urllib.parse import urlsplit

from fastapi import Request, Response

from api.problems import Refusal
from rackproof.settings import Settings

#: A browser takes the first only with Secure, from this host, for all of it; the second is for http on loopback, where no one listens in.
COOKIE = "__Host-rackproof"
COOKIE_ON_LOOPBACK = "rackproof"
CSRF_HEADER = "X-CSRF-Token"
UNSAFE = frozenset({"POST", "PUT", "PATCH", "DELETE"})

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def address_of(request: Request) -> str:
    """The address that the request came from; behind a proxy, uvicorn has put in what a trusted proxy says."""
    return request.client.host if request.client is not None else ""


def bearer_of(request: Request) -> str | None:
    """The token in `Authorization: Bearer TOKEN`."""
    scheme, _, token = request.headers["authorization"].partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def cookie_name(request: Request) -> str:
    """Under which name this request's browser keeps the session."""
    plain = request.scope["scheme"] == "http" and _host(request) in _LOOPBACK
    return COOKIE_ON_LOOPBACK if plain else COOKIE


def cookie_of(request: Request) -> str | None:
    """The session's secret."""
    return request.cookies.get(cookie_name(request))


def set_cookie(request: Request, response: Response, secret: str, seconds: int) -> None:
    """Give the browser a session's secret. Scripts cannot read it, and other sites' requests do not carry it."""
    name = cookie_name(request)
    response.set_cookie(name, secret, max_age=seconds, path="/", httponly=True, samesite="lax", secure=name == COOKIE)


def remove_cookie(request: Request, response: Response) -> None:
    """Take the session's secret out of the browser."""
    name = cookie_name(request)
    response.delete_cookie(name, path="/", httponly=True, samesite="lax", secure=name == COOKIE)


def check_origin(request: Request) -> None:
    """Refuse what a page of another site sent. Raises Refusal."""
    site = request.headers.get("sec-fetch-site")
    if site not in (None, "same-origin", "none"):
        raise Refusal(403, "the request comes from a page of another site", kind="csrf")
    origin = request.headers.get("origin")
    if origin is None:
        return
    settings: Settings = request.app.state.settings
    own = {request.headers.get("host", "").lower()}
    if settings.public_url is not None:
        own.add(_netloc(settings.public_url))
    # "null", which a sandboxed page sends, has no host at all.
    if _netloc(origin) not in own - {""}:
        raise Refusal(403, "the request comes from a page of another site", kind="csrf")


def check_token(request: Request, csrf: str) -> None:
    """Refuse what does not carry the session's CSRF token. Raises Refusal."""
    said = request.headers.get(CSRF_HEADER, "")
    if not hmac.compare_digest(said.encode(), csrf.encode()):
        raise Refusal(403, f"expected the session's token in {CSRF_HEADER} (GET /api/v1/session tells it)", kind="csrf")


def _host(request: Request) -> str:
    try:
        return (urlsplit(f"//{request.headers.get('host', '')}").hostname or "").lower()
    except ValueError:
        return ""


def _netloc(url: str) -> str:
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return ""
