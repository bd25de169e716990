"""How does a program use a Rackproof service? One class, Client; what it returns is in values.py, what it raises in failures.py."""

from rackproof.client.client import Client
from rackproof.client.failures import NotAllowed, ServerError, Unreachable

__all__ = ["Client", "NotAllowed", "ServerError", "Unreachable"]
