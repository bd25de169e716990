"""Where results are kept: PostgreSQL for campaigns and measurements, Parquet for samples."""

from rackproof.store.embedded import stop_if_unused
from rackproof.store.records import CampaignSummary, Event
from rackproof.store.store import Store

__all__ = ["CampaignSummary", "Event", "Store", "stop_if_unused"]
