"""How do the refusals of accounts look over HTTP?"""

from collections.abc import Iterator
from contextlib import contextmanager

from fastapi.exceptions import RequestValidationError

from api.problems import Refusal
from rackproof.model.account import AccountRefused, TooManyAttempts


@contextmanager
def refusing() -> Iterator[None]:
    """Within, what the store refuses about an account becomes 422 with the field, or 429 with Retry-After."""
    try:
        yield
    except AccountRefused as refused:
        fault = {"type": "account", "loc": ("body", refused.where), "msg": refused.expected, "input": refused.found}
        raise RequestValidationError([fault]) from None
    except TooManyAttempts as refused:
        raise Refusal(429, str(refused), headers={"Retry-After": str(refused.retry_after_s)}, kind="too-many-attempts") from None
