"""A switch's configuration as a tree of lines, and a command line over it: what fakenos lacks to be configured.

It knows the lines of its rules and refuses all others. It forwards nothing, and proves nothing about a real switch.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from fakenos.plugins.shell.cmd_shell import CMDShell  # type: ignore[import-untyped]


@dataclass(frozen=True)
class Rule:
    """A line of a mode. key: what it replaces (groups as in re.expand); enters: the mode below it; default: not written down."""

    mode: str
    pattern: str
    key: str = r"\g<0>"
    enters: str = ""
    default: bool = False


@dataclass
class Block:
    """Lines by key, each with the lines below it."""

    lines: dict[str, tuple[str, "Block"]] = field(default_factory=dict)

    def text(self, indent: int, depth: int = 0) -> str:
        """As the switch shows it."""
        rows = (f"{' ' * indent * depth}{line}\n{below.text(indent, depth + 1)}" for line, below in self.lines.values())
        return "".join(rows)


class Configuration:
    """A configuration that is being edited."""

    def __init__(self, rules: Sequence[Rule], text: str = "") -> None:
        self.rules = rules
        self.root = Block()
        self.top()
        for line in text.splitlines():
            if line.strip() and not line.startswith(("!", "Building", "Current", "end", "version")) and not self.edit(line.strip()):
                raise ValueError(line)

    def top(self) -> None:
        """Leave all modes."""
        self.modes = [("", self.root)]

    def edit(self, line: str) -> bool:
        """One line typed; whether it was understood."""
        for depth in range(len(self.modes), 0, -1):
            mode, block = self.modes[depth - 1]
            for rule in self.rules:
                if rule.mode == mode and (match := re.fullmatch(rule.pattern, line)):
                    self.modes = self.modes[:depth]
                    key = match.expand(rule.key)
                    if rule.default:
                        block.lines.pop(key, None)
                        return True
                    below = block.lines[key][1] if key in block.lines else Block()
                    block.lines[key] = (line, below)
                    if rule.enters:
                        self.modes.append((rule.enters, below))
                    return True
        return self._negate(line.removeprefix("no ")) if line.startswith("no ") else False

    def _negate(self, line: str) -> bool:
        for depth in range(len(self.modes), 0, -1):
            _, block = self.modes[depth - 1]
            gone = [key for key, (there, _) in block.lines.items() if there.startswith(line)]
            for key in gone:
                del block.lines[key]
            if gone:
                self.modes = self.modes[:depth]
                return True
        return True


@dataclass
class Switch:
    """What stays when a session ends.

    answers: exec commands (regular expressions) with a fixed answer; shown: a pattern, and what stands for it where the configuration is
    shown; commands: all that was typed.
    """

    rules: Sequence[Rule]
    indent: int
    running: str
    answers: Mapping[str, str] = field(default_factory=dict)
    header: str = ""
    shown: tuple[str, str] = ("", "")
    files: dict[str, str] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)


class SwitchShell(CMDShell):  # type: ignore[misc]
    """Commands of EOS, NX-OS and IOS that read and change the configuration; others are fakenos's own."""

    switch: ClassVar[Switch]
    invalid = "% Invalid input detected at '^' marker."

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.prompt = f"{self.base_prompt}>"
        self.editing: Configuration | None = None
        self.session = False
        self.asking = ""

    def default(self, line: str) -> bool:
        """One line typed."""
        self.switch.commands.append(line)
        answer = self._answer(line)
        if answer is None:
            return bool(super().default(line))
        self.writeline(answer)
        return False

    def emptyline(self) -> None:
        """Return alone takes what a question offers."""
        if self.asking:
            self.default("")

    def _answer(self, line: str) -> str | None:
        if self.asking:
            name, self.asking = self.asking, ""
            self.prompt = f"{self.base_prompt}#"
            self.switch.files[name] = self.switch.running
            return "[OK]"
        if line.startswith("terminal "):
            return ""
        for pattern, answer in self.switch.answers.items():
            if re.fullmatch(pattern, line):
                return answer
        if self.editing is not None:
            return self._edit(line)
        return self._execute(line)

    def _execute(self, line: str) -> str | None:
        """Outside configuration mode."""
        switch = self.switch
        match line.split():
            case ["enable"]:
                self.prompt = f"{self.base_prompt}#"
                return ""
            case ["show", "privilege"]:
                return "Current privilege level is 15"
            case ["show", "running-config"]:
                return switch.header + re.sub(*switch.shown, switch.running)
            case ["configure", "terminal"]:
                self._begin(session=False)
                return ""
            case ["configure", "session", _]:
                self._begin(session=True)
                return ""
            case ["show", "configuration", "sessions"] | ["end"]:
                return ""
            case ["copy", "running-config", name] if self.nos.name == "arista_eos":
                switch.files[name] = switch.running
                return "Copy completed successfully."
            case ["copy", "running-config", name]:
                self.asking = name
                self.prompt = f"Destination filename [{name.partition(':')[2]}]? "
                return ""
            case ["checkpoint", "file", name]:
                switch.files[name] = switch.running
                return "Done"
            case ["configure", "replace", name] | ["configure", "replace", name, "force"] | ["rollback", "running-config", "file", name]:
                if name not in switch.files:
                    return f"%Error opening {name} (No such file or directory)"
                switch.running = switch.files[name]
                return "Rollback Done" if line.startswith("configure") else "Rollback completed successfully."
            case ["delete", name] | ["delete", "/force", name] | ["delete", name, "no-prompt"]:
                return "" if switch.files.pop(name.removeprefix("bootflash:"), None) else f"%Error deleting {name} (No such file)"
            case _:
                return None

    def _begin(self, *, session: bool) -> None:
        self.session = session
        self.editing = Configuration(self.switch.rules, self.switch.running)
        self.prompt = f"{self.base_prompt}(config{'-s-rackpr' if session else ''})#"

    def _end(self, *, keep: bool) -> str:
        assert self.editing is not None
        if keep:
            self.switch.running = self.editing.root.text(self.switch.indent)
        self.editing = None
        self.prompt = f"{self.base_prompt}#"
        return ""

    def _edit(self, line: str) -> str:
        """In configuration mode. Without a session a line is in force at once."""
        assert self.editing is not None
        match line:
            case "rollback clean-config":
                self.editing = Configuration(self.switch.rules)
                return ""
            case "show session-config diffs":
                old, new = self.switch.running.splitlines(), self.editing.root.text(self.switch.indent).splitlines()
                return "\n".join(difflib.unified_diff(old, new, "system:/running-config", "session:/rackproof", lineterm=""))
            case "commit":
                return self._end(keep=True)
            case "abort":
                return self._end(keep=False)
            case "end":
                return self._end(keep=not self.session)
            case _:
                return "" if line.startswith("!") or self.editing.edit(line) else self.invalid
