"""How seeds of trials follow from a plan's."""

import hashlib


def seed_from(text: str) -> int:
    """A seed (31 bits) that follows from a text and from nothing else."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) >> 1
