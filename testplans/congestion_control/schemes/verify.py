"""Which algorithm does a TCP connection use? Read from `ss`, because a program may take another one than it was told to, silently."""

import re
from dataclasses import dataclass

#: TCP options that ss prints as bare words before the algorithm's name (iproute2, misc/ss.c).
_OPTIONS = frozenset({"ts", "sack", "ecn", "ecnseen", "fastopen"})
#: A connection that has sent less may be one for control, which has another algorithm; a window's first ten segments are more [byte].
SENT_MIN = 8000
_BYTES = re.compile(r"\bbytes_(?:sent|acked):(\d+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Connection:
    """A TCP connection as one host sees it; algorithm is "" where ss says none."""

    local: str
    peer: str
    algorithm: str
    sent_bytes: int


def command(port: int) -> tuple[str, ...]:
    """The command whose output connections() reads: established connections from or to a port."""
    return ("ss", "-tinHO", "state", "established", f"( sport = :{port} or dport = :{port} )")


def connections(output: str) -> tuple[Connection, ...]:
    """The connections of ss's output, one a line, without header and state."""
    found = []
    for line in output.splitlines():
        fields = line.split()
        if len(fields) < 4 or not fields[0].isdecimal():
            continue
        _, _, local, peer, *info = fields
        names = (word for word in info if ":" not in word and word not in _OPTIONS)
        sent = [int(count) for count in _BYTES.findall(line)]
        found.append(Connection(local=local, peer=peer, algorithm=next(names, ""), sent_bytes=max(sent, default=0)))
    return tuple(found)


def algorithm_in_use(output: str) -> str:
    """The algorithm of the connection that has sent most, "" where none has sent SENT_MIN: control connections have their own."""
    busiest = max(connections(output), key=lambda connection: connection.sent_bytes, default=None)
    return busiest.algorithm if busiest is not None and busiest.sent_bytes >= SENT_MIN else ""
