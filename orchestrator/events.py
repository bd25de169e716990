"""What happens in a campaign: see rackproof/model/event.py, where others can read it too."""

from rackproof.model.event import Event, EventKind, Listener

__all__ = ["Event", "EventKind", "Listener"]
