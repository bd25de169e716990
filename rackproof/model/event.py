"""What happens in a campaign, as it is told to whoever watches: the terminal, the store's table of events, and those who follow it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class EventKind(StrEnum):
    """What happened."""

    QUEUED = "queued"
    CAMPAIGN_STARTED = "campaign_started"
    CAMPAIGN_RESUMED = "campaign_resumed"
    ADOPTED = "adopted"
    CALIBRATED = "calibrated"
    TESTBED_CHECKED = "testbed_checked"
    TESTBED_TOLD = "testbed_told"
    DEVICE_CONFIGURED = "device_configured"
    TRIAL_STARTED = "trial_started"
    TRIAL_ENDED = "trial_ended"
    WARNING = "warning"
    CANCEL_REQUESTED = "cancel_requested"
    CAMPAIGN_ENDED = "campaign_ended"
    REPORT_READY = "report_ready"


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One thing that happened; data holds plain scalars."""

    kind: EventKind
    text: str
    data: Mapping[str, float | int | str] = field(default_factory=dict)


Listener = Callable[[Event], None]
