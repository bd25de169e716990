"""A small OpenID provider: discovery, keys, authorization with PKCE, tokens signed with RS256. Tests say what it gets wrong."""

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT, SECRET = "rackproof", "a secret that both sides know"
KEY, OTHER_KEY = (RSAKey.generate_key(2048, {"kid": kid, "use": "sig"}) for kid in ("first", "second"))


class Provider:
    """claims: what its identity tokens say beside the usual; bend: a last change to them; key: what signs."""

    def __init__(self) -> None:
        self.issuer = ""
        self.key = KEY
        self.published = [self.key]
        self.claims: dict[str, Any] = {"sub": "subject-1", "preferred_username": "ada", "name": "Ada Lovelace", "email": "ada@lab.example"}
        self.bend: Callable[[dict[str, Any]], None] = lambda _: None
        self.header: dict[str, Any] = {"alg": "RS256"}
        self.metadata: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.reuse = False
        self.app = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._discovery),
                Route("/jwks", self._jwks),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
            ]
        )

    def _discovery(self, _: Request) -> Response:
        endpoints = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "jwks"}
        return JSONResponse({"issuer": self.issuer, **{key: f"{self.issuer}/{path}" for key, path in endpoints.items()}, **self.metadata})

    def _jwks(self, _: Request) -> Response:
        return JSONResponse(KeySet(list(self.published)).as_dict(private=False))

    def _authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        assert (asked["response_type"], asked["client_id"], asked["code_challenge_method"]) == ("code", CLIENT, "S256")
        assert "openid" in asked["scope"].split()
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state'], 'iss': self.issuer})}")

    async def _token(self, request: Request) -> Response:
        form = {key: values[0] for key, values in parse_qs((await request.body()).decode()).items()}
        expected = "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if request.headers.get("authorization") != expected:
            return JSONResponse({"error": "invalid_client"}, 401)
        asked = self.codes.get(form.get("code", "")) if self.reuse else self.codes.pop(form.get("code", ""), None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
        if asked is None or challenge != asked["code_challenge"] or form["redirect_uri"] != asked["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked["nonce"], **self.claims}
        self.bend(claims)
        header = {"kid": self.key.kid, **self.header}
        # No library signs with "none" any more.
        unsigned = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (header, claims)) + "."
        token = unsigned if header["alg"] == "none" else jwt.encode(header, claims, self.key, algorithms=["RS256", "HS256"])
        return JSONResponse({"access_token": "opaque", "token_type": "Bearer", "id_token": token})
