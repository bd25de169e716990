"""What a scheme's file may say."""

import re
import string
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import InitErrorDetails

from testplans.strict import Part, fault, refuse

#: What stands for a value in argument lists, and what it is replaced by.
PLACEHOLDERS = {
    "bind": "the address of the host that the program runs on",
    "peer": "the address of the other host",
    "port": "the port of the flow",
    "duration": "seconds that are longer than the run: the procedure ends the programs",
    "algorithm": "the name of the algorithm in the kernel",
    "folder": "an empty folder of this side, removed afterwards",
    "python": "a Python interpreter that has the modules that the scheme needs",
    "scripts": "the folder of the project's own programs for schemes",
    "weights": "the file of weights that the setting names",
    "trex": "the folder of TRex that the setting names",
}
#: The folder of programs that the settings name, as a shell would write it.
FOLDER = "$RACKPROOF_PROGRAMS_DIR"


def _known_placeholders(argument: str) -> str:
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(argument) if name is not None]
    except ValueError as error:
        raise ValueError(f"expected text with placeholders in braces, found {argument!r} ({error})") from None
    unknown = [name for name in names if name not in PLACEHOLDERS]
    if unknown:
        raise ValueError(f"expected a placeholder ({', '.join(PLACEHOLDERS)}), found {unknown[0] or 'empty braces'}")
    return argument


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"expected a regular expression, found {text!r} ({error})") from None
    return text


Argument = Annotated[str, AfterValidator(_known_placeholders)]
Arguments = Annotated[tuple[Argument, ...], Field(min_length=1)]
Pattern = Annotated[str, Field(min_length=1), AfterValidator(_pattern)]
Side = Literal["sender", "receiver"]


class Source(Part):
    """Where something is to be had; any of them will do."""

    debian: str | None = None
    pypi: str | None = None
    npm: str | None = None
    crate: str | None = None
    other: str | None = Field(default=None, description="What to do, in words.")

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        if not self.how:
            raise ValueError("expected debian, pypi, npm, crate or other, found none of them")
        return self

    @property
    def how(self) -> str:
        """What to do to get it."""
        ways = (
            ("apt-get install {}", self.debian),
            ("pip install {}", self.pypi),
            (f"npm install --prefix {FOLDER} {{}}", self.npm),
            (f"cargo install --root {FOLDER} {{}}", self.crate),
            ("{}", self.other),
        )
        return " or ".join(way.format(name) for way, name in ways if name)


class Needed(Part):
    """A program on the PATH, or a module of Python or Node.js."""

    name: str = Field(min_length=1)
    get: Source


class Ready(Part):
    """When the second side may start: as soon as the first listens on the flow's port, or after a time."""

    listens: Literal["tcp", "udp"] | None = None
    within_s: float = Field(default=10.0, gt=0, le=120)
    after_s: float | None = Field(default=None, ge=0, le=60)

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.listens is None) == (self.after_s is None):
            raise ValueError(f"expected either listens or after_s, found {'neither' if self.listens is None else 'both'}")
        return self


class Verify(Part):
    """How the algorithm in use is seen: its name in the sender's TCP sockets, or a text in the output of one side."""

    ss: Pattern | None = None
    output: Pattern | None = None
    of: Side = "sender"

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.ss is None) == (self.output is None):
            raise ValueError(f"expected either ss or output, found {'neither' if self.ss is None else 'both'}")
        return self


class Scheme(Part):
    """A congestion-control scheme: how its two ends run, what they need, and how to tell that it is what it says.

    Either the ends are given (first, ready, sender, receiver), or wrapper names a scheme of a Pantheon checkout.
    """

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", description="Lower case, with -.")
    label: str = Field(min_length=1, max_length=40, description="As reports print it.")
    family: Literal["tcp", "quic", "udp", "webrtc"]
    weak: str | None = Field(default=None, min_length=1, description="Why this implementation must not be shown as the algorithm.")
    privileges: Literal["none", "root"] = "none"
    programs: tuple[Needed, ...] = ()
    python_modules: tuple[Needed, ...] = ()
    node_modules: tuple[Needed, ...] = ()
    algorithm: str | None = Field(default=None, min_length=1, max_length=15, description="What the sender's kernel must offer.")
    bpf: str | None = Field(
        default=None, pattern=r"^[a-z]{1,5}$", description="An object in bpf/ that stands in where the kernel lacks it."
    )
    weights: bool = Field(default=False, description="The user must supply trained weights.")
    trex: bool = Field(default=False, description="The user must name the folder of a TRex.")
    wrapper: str | None = Field(default=None, pattern=r"^\w+$")
    first: Side | None = None
    ready: Ready | None = None
    settle_s: float = Field(default=0.0, ge=0, le=60, description="What the second side takes before it sends; no part of the run.")
    prepare_sender: tuple[Arguments, ...] = ()
    prepare_receiver: tuple[Arguments, ...] = ()
    sender: Arguments | None = None
    receiver: Arguments | None = None
    verify: Verify | None = Field(default=None, description="Absent where nothing can be seen.")
    version: Arguments | None = Field(default=None, description="A command whose output says which version it is.")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        ends = {name: getattr(self, name) for name in ("first", "ready", "sender", "receiver")}
        faults = []
        for name, value in ends.items():
            if self.wrapper is None and value is None:
                faults.append(InitErrorDetails(type="missing", loc=(name,), input=None))
            if self.wrapper is not None and value is not None:
                faults.append(fault((name,), f"no {name}, because the wrapper knows", "one"))
        if self.bpf is not None and self.algorithm is None:
            faults.append(fault(("bpf",), "an algorithm that it stands in for", "no algorithm"))
        if faults:
            refuse(type(self), *faults)
        return self

    def is_right(self, algorithm: str) -> bool:
        """True where what was seen in use ("" where nothing was) is this scheme's algorithm, or where nothing can be seen."""
        if self.verify is None:
            return True
        pattern = self.verify.ss or self.verify.output or ""
        return re.fullmatch(pattern, algorithm) is not None

    @property
    def arguments(self) -> tuple[str, ...]:
        """All arguments of all commands."""
        commands = (self.sender, self.receiver, self.version, *self.prepare_sender, *self.prepare_receiver)
        return tuple(argument for command in commands if command is not None for argument in command)
