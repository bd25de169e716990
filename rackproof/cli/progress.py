"""A campaign's progress in the terminal: one bar, the trial at work, the time left; plain lines where there is no terminal."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from orchestrator.events import Event, EventKind
from rackproof.cli.tables import verdict_text
from rackproof.model.verdict import Verdict

#: Refreshing costs processor time that the measurement needs.
REFRESH_HZ = 4


class CampaignProgress:
    """A listener of a campaign that shows it; a context manager around the run."""

    def __init__(self, console: Console, campaign: int) -> None:
        self._console = console
        self._campaign = campaign
        self._trials = 0
        self._seconds = 0.0
        self._done = 0
        self._done_s = 0.0
        self._begun = time.monotonic()
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            TextColumn("[dim]{task.fields[at]}"),
            console=console,
            refresh_per_second=REFRESH_HZ,
            transient=False,
            disable=not console.is_terminal,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        self._task = self._progress.add_task(f"campaign {self._campaign}", total=None, left="", at="calibrating")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._update(left="", at="" if kind is None else "stopped")
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        """Take one event of the campaign."""
        match event.kind:
            case EventKind.CAMPAIGN_STARTED | EventKind.CAMPAIGN_RESUMED:
                self._trials = int(event.data["trials"])
                self._seconds = float(event.data["seconds"])
                word = "runs" if event.kind is EventKind.CAMPAIGN_STARTED else "goes on with"
                self._line(
                    f"campaign {self._campaign} {word} {self._trials} trials, about {_clock(self._seconds)} of traffic: {event.text}"
                )
                if self._task is not None:
                    self._progress.update(self._task, total=self._trials)
            case EventKind.CALIBRATED:
                self._line(f"calibrated: {event.text}")
                self._begun = time.monotonic()
            case EventKind.TESTBED_TOLD:
                self._update(at=event.text)
            case EventKind.DEVICE_CONFIGURED:
                self._update(at=f"configured {event.text}")
            case EventKind.TRIAL_STARTED:
                self._update(at=event.text, left=f"{_clock(self._left_s())} left")
                self._seconds_of_trial = float(event.data["seconds"])
            case EventKind.TRIAL_ENDED:
                self._done += 1
                self._done_s += self._seconds_of_trial
                if event.data["verdict"] != Verdict.PASS:
                    verdict = Verdict(str(event.data["verdict"]))
                    self._console.print(Text.assemble(f"trial {event.data['trial']} ", verdict_text(verdict), f" {event.text}"))
                elif not self._console.is_terminal:
                    self._line(f"trial {self._done}/{self._trials} {event.text}: {_clock(self._left_s())} left")
                self._update(advance=1, left=f"{_clock(self._left_s())} left")
            case EventKind.WARNING:
                self._console.print(f"[yellow]warning:[/] {escape(event.text)}")
            case EventKind.CAMPAIGN_ENDED:
                self._update(at="", left="")

    _seconds_of_trial = 0.0

    def _left_s(self) -> float:
        """What the plan says is left, scaled by how the time went so far."""
        pace = (time.monotonic() - self._begun) / self._done_s if self._done_s else 1.0
        return max(0.0, (self._seconds - self._done_s) * max(1.0, pace))

    def _line(self, text: str) -> None:
        self._console.print(f"[dim]{escape(text)}[/]")

    def _update(self, *, advance: int = 0, **fields: str) -> None:
        if self._task is not None:
            self._progress.update(self._task, advance=advance, **fields)  # type: ignore[arg-type]


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
