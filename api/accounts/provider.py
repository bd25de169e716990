"""What does the OpenID provider say? Discovery, keys, codes and identity tokens: OpenID Connect Core 1.0, with PKCE (RFC 7636)."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
from authlib.oauth2.auth import ClientAuth  # type: ignore[import-untyped]
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri, prepare_token_request  # type: ignore[import-untyped]
from authlib.oauth2.rfc7636 import create_s256_code_challenge  # type: ignore[import-untyped]
from authlib.oidc.core import CodeIDToken  # type: ignore[import-untyped]
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet

from rackproof.errors import RackproofError

TIMEOUT_S = 10.0
KEPT_S = 600.0
LEEWAY_S = 60
#: What providers sign with. Never "none", and never HMAC: its key would be the client's secret.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class ProviderDown(RackproofError):
    """The OpenID provider cannot be reached, or does not answer as one."""


class ProviderRefused(RackproofError):
    """The OpenID provider, or what it sent, does not say who somebody is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """Whom the provider vouches for; issuer and subject together are never given to another."""

    issuer: str
    subject: str
    name: str
    full_name: str
    email: str


@dataclass(frozen=True, slots=True)
class _Known:
    metadata: Mapping[str, Any]
    keys: KeySet
    read: float


class Provider:
    """One provider. Threads may share it; what it publishes is read again every ten minutes, and for a key that is new."""

    def __init__(self, issuer: str, client_id: str, client_secret: str | None) -> None:
        self.issuer = issuer
        self._client_id = client_id
        method = "client_secret_basic" if client_secret else "none"
        self._auth = ClientAuth(client_id=client_id, client_secret=client_secret or "", auth_method=method)
        self._lock = threading.Lock()
        self._known: _Known | None = None

    def address(self, *, redirect: str, state: str, nonce: str, verifier: str) -> str:
        """Where the browser goes to sign in. Raises ProviderDown."""
        address: str = prepare_grant_uri(
            self._endpoint("authorization_endpoint"),
            client_id=self._client_id,
            response_type="code",
            redirect_uri=redirect,
            scope="openid profile email",
            state=state,
            nonce=nonce,
            code_challenge=create_s256_code_challenge(verifier),
            code_challenge_method="S256",
        )
        return address

    def subject(self, *, code: str, redirect: str, nonce: str, verifier: str) -> Subject:
        """Who came back with the code. Raises ProviderDown, ProviderRefused."""
        answer = self._exchange(code, redirect, verifier)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise ProviderRefused("the provider sent no identity token")
        try:
            claims = self._validated(token, nonce, answer.get("access_token"))
        except (JoseError, ValueError) as error:
            raise ProviderRefused(f"the identity token is not valid: {error}") from None
        text = {key: str(claims.get(key) or "").replace("\0", "")[:254] for key in ("preferred_username", "name", "email")}
        name = text["preferred_username"] or text["email"].partition("@")[0] or str(claims["sub"])
        return Subject(issuer=self.issuer, subject=str(claims["sub"]), name=name, full_name=text["name"][:200], email=text["email"])

    def _exchange(self, code: str, redirect: str, verifier: str) -> Mapping[str, Any]:
        body = prepare_token_request("authorization_code", redirect_uri=redirect, code=code, code_verifier=verifier)
        headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
        address, headers, body = self._auth.prepare("POST", self._endpoint("token_endpoint"), headers, body)
        try:
            response = httpx.post(address, headers=headers, data=dict(parse_qsl(body)), timeout=TIMEOUT_S)
            answer = response.json()
        except (httpx.HTTPError, ValueError) as error:
            raise ProviderDown(f"the provider's token endpoint does not answer: {error}") from None
        if not isinstance(answer, dict):
            raise ProviderDown("the provider's token endpoint did not answer with a JSON object")
        if response.status_code != httpx.codes.OK:
            raise ProviderRefused(f"the provider refused the code: {str(answer.get('error', response.status_code))[:100]}")
        return answer

    def _validated(self, token: str, nonce: str, access_token: object) -> Mapping[str, Any]:
        try:
            decoded = jwt.decode(token, self._publication().keys, algorithms=ALGORITHMS)
        except InvalidKeyIdError:
            # The provider has a new key since its keys were read.
            decoded = jwt.decode(token, self._publication(again=True).keys, algorithms=ALGORITHMS)
        options = {"iss": {"essential": True, "value": self.issuer}, "aud": {"essential": True, "value": self._client_id}}
        options |= {"sub": {"essential": True, "allow_blank": False}}
        params = {"nonce": nonce, "client_id": self._client_id, "access_token": access_token}
        claims = CodeIDToken(decoded.claims, decoded.header, options, params)
        claims.validate(leeway=LEEWAY_S)
        return dict(claims)

    def _endpoint(self, name: str) -> str:
        address = self._publication().metadata.get(name)
        if not isinstance(address, str) or not _is_safe(address):
            raise ProviderDown(f"the provider's {name}: expected an https address, found {address!r}")
        return address

    def _publication(self, *, again: bool = False) -> _Known:
        with self._lock:
            if self._known is None or again or time.monotonic() > self._known.read + KEPT_S:
                self._known = self._read()
            return self._known

    def _read(self) -> _Known:
        if not _is_safe(self.issuer):
            raise ProviderDown(f"the issuer: expected an https address, found {self.issuer}")
        metadata = _get(f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
        if metadata.get("issuer") != self.issuer:
            raise ProviderDown(f"the provider's issuer: expected {self.issuer}, found {metadata.get('issuer')!r}")
        jwks = metadata.get("jwks_uri")
        if not isinstance(jwks, str) or not _is_safe(jwks):
            raise ProviderDown(f"the provider's jwks_uri: expected an https address, found {jwks!r}")
        try:
            keys = KeySet.import_key_set(_get(jwks))  # type: ignore[arg-type]  # checked by it
        except (JoseError, KeyError, TypeError, ValueError) as error:
            raise ProviderDown(f"the provider's keys cannot be read: {error}") from None
        return _Known(metadata=metadata, keys=keys, read=time.monotonic())


def _get(address: str) -> dict[str, Any]:
    try:
        response = httpx.get(address, timeout=TIMEOUT_S).raise_for_status()
        answer = response.json()
    except (httpx.HTTPError, ValueError) as error:
        raise ProviderDown(f"the OpenID provider does not answer: {error}") from None
    if not isinstance(answer, dict):
        raise ProviderDown(f"{address}: expected a JSON object")
    return answer


def _is_safe(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
