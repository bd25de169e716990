"""Plans that do nothing, in the ways that the tests need."""

import json
from typing import Any


def nothing(name: str = "nothing at all", **keys: Any) -> str:
    """A plan of the kind `nothing`."""
    return json.dumps({"kind": "nothing", "name": name, **keys})
