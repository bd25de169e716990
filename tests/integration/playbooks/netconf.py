"""A NETCONF server that speaks as Junos does: a committed and a candidate configuration, both lists of `set` lines.

It knows the hierarchies of its list and refuses all others, and an interface that is called "refused". It forwards nothing, and proves
nothing about a real router. Its text format has one statement a line, without braces.
"""

import difflib
import re
import socketserver
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

import paramiko  # type: ignore[import-untyped]

_END = b"]]>]]>"
_BASE = "urn:ietf:params:xml:ns:netconf:base:1.0"
_HELLO = f"""<hello xmlns="{_BASE}"><capabilities><capability>urn:ietf:params:netconf:base:1.0</capability>
<capability>urn:ietf:params:netconf:capability:candidate:1.0</capability><capability>urn:ietf:params:netconf:capability:validate:1.0</capability>
</capabilities><session-id>1</session-id></hello>"""
#: Statements that stand once: another value takes the place of the first.
_ONCE = re.compile(r"(.*\b(?:host-name|router-id|vlan-id|interface-mode|scheduler-map|queue-num|next-hop|priority|percent)) \S+")
_KNOWN = re.compile(r"(?:system|interfaces|vlans|class-of-service|routing-options|protocols (?:mpls|rsvp))( .*)?")


@dataclass
class Router:
    """What stays when a session ends. answers: commands with a fixed answer. loaded: all configuration that was sent."""

    committed: list[str]
    answers: Mapping[str, str] = field(default_factory=dict)
    loaded: list[str] = field(default_factory=list)
    commits: int = 0

    def __post_init__(self) -> None:
        self.candidate = list(self.committed)

    def reply(self, request: ET.Element) -> str:
        """What it answers to an RPC."""
        name = request.tag.rpartition("}")[2]
        text = "".join(request.itertext())
        match name:
            case "get-software-information":
                return _wrap(
                    "software-information",
                    "<host-name>dut</host-name><product-model>ex4300</product-model><junos-version>23.4R1</junos-version>",
                )
            case "get-chassis-inventory":
                return _wrap("chassis-inventory", "<chassis><serial-number>PE0001</serial-number></chassis>")
            case "get-configuration" if request.get("compare"):
                diff = difflib.unified_diff(self.committed, self.candidate, lineterm="", n=0)
                rows = [row for row in diff if not row.startswith(("---", "+++", "@@"))]
                return _wrap("configuration-information", _wrap("configuration-output", escape("\n" + "\n".join(rows))))
            case "get-configuration" if request.get("format") == "set":
                return _wrap("configuration-set", escape("\n".join(f"set {line}" for line in self.committed)))
            case "get-configuration":
                return _wrap(
                    "configuration-text", escape("## Last commit: now by lab\n" + "\n".join(f"{line};" for line in self.committed))
                )
            case "load-configuration":
                return self._load(request.get("action", ""), text)
            case "discard-changes":
                self.candidate = list(self.committed)
                return "<ok/>"
            case "commit-configuration":
                self.committed = list(self.candidate)
                self.commits += 1
                return "<ok/>"
            case "command" if text.strip() in self.answers:
                return _wrap("output", escape(self.answers[text.strip()]))
            case "lock" | "unlock" | "validate" | "close-session":
                return "<ok/>"
            case _:
                return _error(f"syntax error: {name} {text}")

    def _load(self, action: str, text: str) -> str:
        self.loaded.append(text)
        lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("##")]
        if action != "set":
            self.candidate = []
            lines = [f"set {line.removesuffix(';')}" for line in lines]
        for line in lines:
            verb, _, statement = line.partition(" ")
            if verb not in ("set", "delete") or not _KNOWN.fullmatch(statement) or " refused " in statement:
                return _error(f"syntax error: {line}")
            if verb == "delete":
                self.candidate = [there for there in self.candidate if there != statement and not there.startswith(f"{statement} ")]
            else:
                self._set(statement)
        self.candidate.sort()
        return _wrap("load-configuration-results", "<ok/>")

    def _set(self, statement: str) -> None:
        if once := _ONCE.fullmatch(statement):
            self.candidate = [there for there in self.candidate if not re.fullmatch(re.escape(once[1]) + r" \S+", there)]
        if statement not in self.candidate:
            self.candidate.append(statement)


def _wrap(tag: str, inner: str) -> str:
    return f"<{tag}>{inner}</{tag}>"


def _error(message: str) -> str:
    return f"<rpc-error><error-severity>error</error-severity><error-message>{escape(message)}</error-message></rpc-error>"


class _Login(paramiko.ServerInterface):  # type: ignore[misc]
    def __init__(self, user: str, password: str) -> None:
        self.expected = (user, password)

    def check_auth_password(self, username: str, password: str) -> int:
        return int(paramiko.AUTH_SUCCESSFUL if (username, password) == self.expected else paramiko.AUTH_FAILED)

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return int(paramiko.OPEN_SUCCEEDED)

    def check_channel_subsystem_request(self, channel: paramiko.Channel, name: str) -> bool:
        return name == "netconf"


@contextmanager
def served(router: Router, user: str, password: str) -> Iterator[tuple[int, str]]:
    """The router behind an SSH server with the subsystem netconf; yields its port and its key, as `known_hosts` has it."""
    key = paramiko.RSAKey.generate(2048)

    class Session(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            transport = paramiko.Transport(self.request)
            transport.add_server_key(key)
            try:
                transport.start_server(server=_Login(user, password))
                if (channel := transport.accept(5)) is not None:
                    _converse(channel, router)
            except (paramiko.SSHException, EOFError, OSError):
                pass  # the client went away
            finally:
                transport.close()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Session) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.server_address[1], f"ssh-rsa {key.get_base64()}"
        finally:
            server.shutdown()
            thread.join()


def _converse(channel: paramiko.Channel, router: Router) -> None:
    channel.settimeout(30)
    channel.sendall(_HELLO.encode() + _END)
    rest = b""
    while data := channel.recv(65536):
        *messages, rest = (rest + data).split(_END)
        for message in messages:
            request = ET.fromstring(message)
            if request.tag.endswith("hello"):
                continue
            answer = router.reply(request[0])
            reply = f'<rpc-reply xmlns="{_BASE}" message-id="{request.get("message-id")}">{answer}</rpc-reply>'
            channel.sendall(reply.encode() + _END)
