"""The devices' configurations: before, as tested, afterwards, and what changed between them."""

import difflib
import re
from collections.abc import Iterator, Mapping

from reports.document import Block, Callout, Preformatted, Section

_WHEN = re.compile(r"(before|as tested|after)(?: with)?\s*(.*)", re.DOTALL)


def configurations(texts: Mapping[str, str]) -> Iterator[Section]:
    """One section with a part for each device; none where nothing was captured.

    texts: "device, before|as tested with|after what" -> configuration.
    """
    devices: dict[str, dict[str, dict[str, str]]] = {}
    for key, text in texts.items():
        device, _, when = key.partition(", ")
        found = _WHEN.fullmatch(when)
        phase, what = (found[1], found[2]) if found else ("as tested", when)
        devices.setdefault(device, {}).setdefault(what, {})[phase] = text
    if devices:
        parts = tuple(Section(id=f"configuration-{device}", title=device, blocks=tuple(_blocks(runs))) for device, runs in devices.items())
        yield Section(id="configurations", title="Configurations", sections=parts)


def _blocks(runs: Mapping[str, Mapping[str, str]]) -> Iterator[Block]:
    both = {what: run for what, run in runs.items() if "before" in run and "after" in run}
    wrong = [what for what, run in both.items() if run["before"] != run["after"]]
    if wrong:
        text = f"After {', '.join(map(_named, wrong))} the configuration was not the one from before."
        yield Callout(tone="warning", title="Not restored", text=text)
    elif both:
        yield Callout(tone="good", title="Restored", text="Whenever the configuration was changed, it was afterwards the same as before.")
    shown: set[str] = set()
    for what, run in runs.items():
        before, tested, after = run.get("before"), run.get("as tested"), run.get("after")
        if before is not None and before not in shown:
            yield Preformatted(caption=f"Before {_named(what)}", text=before)
            shown.add(before)
        if tested is not None and before is not None:
            yield Preformatted(
                caption=f"As tested with {_named(what)}: changes", text=_diff(before, tested) or "no change", language="diff"
            )
        elif tested is not None:
            yield Preformatted(caption=f"As tested with {_named(what)}", text=tested)
        if after is not None and before is not None and after != before:
            yield Preformatted(caption=f"After {_named(what)}, against before", text=_diff(before, after), language="diff")
        elif after is not None and before is None:
            yield Preformatted(caption=f"After {_named(what)}", text=after)


def _named(what: str) -> str:
    return what or "the campaign"


def _diff(old: str, new: str) -> str:
    # The context is the whole text: what is tested stands here in full.
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=10_000))
    return "\n".join(lines[3:])
