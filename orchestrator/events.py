"""What happens in a campaign, as it is told to whoever watches: the terminal, and the store's table of events."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class EventKind(StrEnum):
    """What happened."""

    CAMPAIGN_STARTED = "campaign_started"
    CAMPAIGN_RESUMED = "campaign_resumed"
    CALIBRATED = "calibrated"
    DEVICE_CONFIGURED = "device_configured"
    TRIAL_STARTED = "trial_started"
    TRIAL_ENDED = "trial_ended"
    WARNING = "warning"
    CAMPAIGN_ENDED = "campaign_ended"


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One thing that happened; data holds plain scalars."""

    kind: EventKind
    text: str
    data: Mapping[str, float | int | str] = field(default_factory=dict)


Listener = Callable[[Event], None]
