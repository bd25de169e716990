"""Accounts over HTTP: signing in, users, tokens, the audit trail, and the OpenID provider where one is configured."""

from fastapi import APIRouter

from api.accounts import audit, oidc, session, setup, tokens, users
from api.identity import GuardedRoute

router = APIRouter(route_class=GuardedRoute)
for part in (session, setup, oidc, users, tokens, audit):
    router.include_router(part.router)
