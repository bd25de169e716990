"""How does an answer of the service become values?"""

from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from rackproof.client.failures import ServerError

Answer = TypeVar("Answer")


def read(value: type[Answer], body: Any) -> Answer:
    """One value. Raises ServerError where the answer is something else."""
    try:
        return TypeAdapter(value).validate_python(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ServerError(f"{value.__name__}: the service sent something else than expected: {where}: {first['msg']}") from None


def items(value: type[Answer], body: Any) -> list[Answer]:
    """The items of a list. Raises ServerError."""
    return [read(value, item) for item in body["items"]]
