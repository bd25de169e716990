"""The service's own health on the wire."""

from typing import Literal

from pydantic import Field

from api.schemas.base import Given


class Alive(Given):
    """The process lives."""

    status: Literal["alive"]


class Ready(Given):
    """The service can be used."""

    status: Literal["ready"]
    workers_alive: int = Field(description="Without one, campaigns wait.")
