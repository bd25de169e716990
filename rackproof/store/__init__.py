"""Where results are kept: PostgreSQL for campaigns and measurements, Parquet for samples."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rackproof.store.embedded import stop_if_unused
    from rackproof.store.records import CampaignSummary, Event
    from rackproof.store.store import Store

__all__ = ["CampaignSummary", "Event", "Store", "stop_if_unused"]

_HOMES = {"CampaignSummary": "records", "Event": "records", "Store": "store", "stop_if_unused": "embedded"}


def __getattr__(name: str) -> Any:
    # The process that only watches over the others uses a module of this package, and must not pay for SQLAlchemy.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
