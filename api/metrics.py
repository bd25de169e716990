"""What can a monitoring system read of this process and of the house? Prometheus, a registry for each application."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import Scope

from rackproof.store import Store

PREFIX = "/api/v1"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """The measurements of one application."""

    def __init__(self, store: Store) -> None:
        self._registry = CollectorRegistry()
        self._requests = Histogram(
            "rackproof_request_seconds",
            "How long requests took until their last byte.",
            ("method", "route", "status"),
            buckets=_BUCKETS_S,
            registry=self._registry,
        )
        self.listeners = Gauge("rackproof_event_listeners", "Who follows events just now.", registry=self._registry)
        self.events = Counter("rackproof_events", "Events of campaigns that this process saw.", registry=self._registry)
        self.dropped = Counter("rackproof_event_listeners_dropped", "Listeners that were too slow.", registry=self._registry)
        self._registry.register(_House(store))

    def request(self, scope: Scope, status: int, took_s: float) -> None:
        """Count a request under its route's pattern: an address that nobody knows makes no series of its own."""
        pattern = getattr(scope.get("route"), "path", None)
        if pattern is None:
            self._requests.labels("any", "unknown", status).observe(took_s)
            return
        # A route knows its path below the prefix under which its router was included.
        prefix = PREFIX if scope["path"].startswith(f"{PREFIX}/") else ""
        self._requests.labels(scope["method"], prefix + pattern.removeprefix(prefix), status).observe(took_s)

    def text(self) -> bytes:
        """Everything in Prometheus's text format. Raises StoreError."""
        return generate_latest(self._registry)


class _House(Collector):
    """What the database knows, read when it is asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def describe(self) -> Iterator[Metric]:
        return iter(())  # nothing is read when the collector is registered

    def collect(self) -> Iterator[Metric]:
        census = self._store.browse.census()
        campaigns = GaugeMetricFamily("rackproof_campaigns", "Campaigns that have not ended, by state.", labels=["state"])
        for state, count in census.campaigns.items():
            campaigns.add_metric([state], count)
        yield campaigns
        for name, text, value in (
            ("queue_length", "Campaigns that wait for a testbed.", census.queued),
            ("leases", "Devices and generators in use.", census.leases),
            ("workers_alive", "Workers that are alive.", census.workers),
            ("testbeds_offline", "Testbeds on which nothing starts.", census.testbeds_offline),
            ("jobs_waiting", "Jobs that no worker has ended.", census.jobs),
            ("deliveries_failed", "Digests that could not be delivered.", census.deliveries_failed),
            ("events_last", "Number of the newest event; its rate is that of events in the whole house.", census.last_event),
        ):
            yield GaugeMetricFamily(f"rackproof_{name}", text, value=value)
