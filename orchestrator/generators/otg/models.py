"""The one place that knows snappi, which has no types: the Open Traffic Generator's own models, checked by its own rules.

Its transport is not used: it has no timeout, and never verifies a certificate.
"""

from typing import Any

import snappi  # type: ignore[import-untyped]


def model(name: str) -> Any:
    """A new, empty model of the API ("Config", "ControlState")."""
    return getattr(snappi, name)()


def library_version() -> str:
    """Version of the API that the models are of."""
    return str(model("Api").get_local_version().api_spec_version)
