"""The words of the service: roles, and the states of what it keeps."""

from enum import StrEnum


class Role(StrEnum):
    """What an account may do; each role may do what those before it may. viewer reads, engineer measures, admin keeps the house."""

    VIEWER = "viewer"
    ENGINEER = "engineer"
    ADMIN = "admin"

    def includes(self, other: "Role") -> bool:
        """True where this role may do what the other may."""
        order = list(Role)
        return order.index(self) >= order.index(other)


class TestbedState(StrEnum):
    """OFFLINE: nothing starts on it until somebody, or a health check that passes, brings it back."""

    __test__ = False  # not a test, whatever pytest makes of its name

    ONLINE = "ONLINE"
    OFFLINE = "OFFLINE"


class JobState(StrEnum):
    """WANTED: nobody has it yet. TAKEN: a worker is at it."""

    WANTED = "WANTED"
    TAKEN = "TAKEN"
    DONE = "DONE"
    FAILED = "FAILED"


class Overlap(StrEnum):
    """What a schedule does when its last run has not ended: leave this one out, or put it in the queue behind."""

    SKIP = "skip"
    QUEUE = "queue"


class Missed(StrEnum):
    """What a schedule does with firings that were missed while the service was down: one run for all of them, or none."""

    RUN_ONCE = "run-once"
    SKIP = "skip"


class SuiteRunState(StrEnum):
    """WANTED: somebody asked for it, and its campaigns come at once. SKIPPED: the last run had not ended, or the moment had passed."""

    WANTED = "WANTED"
    RUNNING = "RUNNING"
    DONE = "DONE"
    SKIPPED = "SKIPPED"


class DeliveryState(StrEnum):
    """FAILED: every attempt was used up."""

    PENDING = "PENDING"
    SENT = "SENT"
    FAILED = "FAILED"
