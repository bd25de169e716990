"""How is an event written as a server-sent event (WHATWG HTML, section 9.2)?"""

import json
import math
from dataclasses import dataclass
from typing import Any

from rackproof.store.records import Event

MEDIA_TYPE = "text/event-stream"
RETRY_MS = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """An event as it goes over the wire."""

    seq: int
    content: bytes


def frame(event: Event) -> Frame:
    """Id is the event's number, event its kind, data one line of JSON: what happened, with `at` and `seq`."""
    data = json.dumps({"seq": event.seq, "at": event.at.isoformat(), "kind": event.kind, "data": finite(event.data)}, ensure_ascii=False)
    kind = "".join(event.kind.split())
    # JSON writes line ends within strings as \n; U+2028 is none in this format.
    return Frame(seq=event.seq, content=f"id: {event.seq}\nevent: {kind}\ndata: {data}\n\n".encode("utf-8", "replace"))


def finite(value: Any) -> Any:
    """Plain data that JSON can write: infinite numbers become texts, as everywhere in the API."""
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case dict():
            return {str(key): finite(item) for key, item in value.items()}
        case list() | tuple():
            return [finite(item) for item in value]
        case _:
            return value
