"""What did a campaign do to a device's configuration? Before, as tested and after, as differences."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_BEFORE, _TESTED, _AFTER = "before ", "as tested with ", "after "
_CONTEXT_LINES = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A line of a difference. sign: "+", "-", " " or "@", which begins a part."""

    sign: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """From one configuration to the next; no lines where they are the same."""

    title: str
    lines: tuple[Part, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Story:
    """A device through one setup. restored: whether it was left as it was found; None where nobody looked. texts: as they were, by name."""

    device: str
    what: str
    changes: tuple[Change, ...]
    restored: bool | None
    texts: Mapping[str, str]


def stories(configurations: Mapping[str, str]) -> list[Story]:
    """Configurations by name ("linux-htb, before strict-priority"), told device by device and setup by setup."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for name, text in configurations.items():
        device, _, moment = name.partition(", ")
        when = next((word for word in (_BEFORE, _TESTED, _AFTER) if moment.startswith(word)), "")
        found.setdefault((device, moment.removeprefix(when)), {})[when] = text
    return [_story(device, what, texts) for (device, what), texts in found.items()]


def _story(device: str, what: str, texts: Mapping[str, str]) -> Story:
    before, tested, after = (texts.get(when) for when in (_BEFORE, _TESTED, _AFTER))
    changes = []
    if before is not None and tested is not None:
        changes.append(Change(title="From how it was found to how it was tested", lines=tuple(_difference(before, tested))))
    if before is not None and after is not None and before != after:
        changes.append(Change(title="From how it was found to how it was left", lines=tuple(_difference(before, after))))
    named = {_BEFORE: "As it was found", _TESTED: "As it was tested", _AFTER: "As it was left", "": "As it was"}
    return Story(
        device=device,
        what=what,
        changes=tuple(changes),
        restored=before == after if before is not None and after is not None else None,
        texts={named[when]: text for when, text in texts.items()},
    )


def _difference(before: str, after: str) -> Sequence[Part]:
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=_CONTEXT_LINES))[2:]
    return [Part(sign=line[:1] if line[:1] in "+-@" else " ", text=line if line.startswith("@") else line[1:]) for line in lines]
