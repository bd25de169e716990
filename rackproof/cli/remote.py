"""What do the commands do where a server is named? The same as here, through its API."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

import typer
from rich.console import Console
from rich.markup import escape

from rackproof.cli import keyring, rehearsals, tables
from rackproof.cli.exits import Exit, of_verdict, reported, stderr
from rackproof.cli.progress import CampaignProgress
from rackproof.cli.signals import stopping
from rackproof.cli.targets import plan_for
from rackproof.client import Client
from rackproof.client.values import Campaign
from rackproof.errors import NotFound, PlanError, Problem, Stopped
from rackproof.model.event import Event, EventKind
from rackproof.settings import Settings

console = Console()
_KNOWN = frozenset(EventKind)


@contextmanager
def connected(server: str) -> Iterator[Client]:
    """A client of the server with the token that was kept for it; errors become messages and exit codes."""
    with reported(), Client(server, keyring.token_for(server)) as client:
        yield client


def run(server: str, plan: Path, testbed: str | None, pdf: Path | None, as_json: bool) -> None:
    """Submit a plan, follow it, and fetch the report; exits as a run on this machine does."""
    with connected(server) as client:
        content = _content(plan, testbed)
        number = client.submit(content, source=str(plan))
        _say(f"campaign {number} is in the queue of {client.server}")
        campaign = _follow(client, number, after=0, quiet=as_json)
        _finish(client, campaign, pdf, as_json)


def resume(server: str, campaign: str, pdf: Path | None, as_json: bool) -> None:
    """Go on with a campaign there, follow it, and fetch the report."""
    with connected(server) as client:
        number = find(client, campaign)
        after = client.last_event(number)
        client.resume(number)
        _finish(client, _follow(client, number, after=after, quiet=as_json), pdf, as_json)


def rehearse(server: str, plan: Path, testbed: str | None, as_json: bool) -> None:
    """Say what a plan would do on its testbed there."""
    with connected(server) as client:
        rehearsal = client.rehearse(_content(plan, testbed), source=str(plan))
    rehearsals.show(rehearsal, ((each.index, each.label, each.duration_s, each.note) for each in rehearsal.trials), as_json)


def report(server: str, campaign: str, pdf: Path | None, as_json: bool) -> None:
    """Have the report of a campaign written there, and fetch it."""
    with connected(server) as client:
        number = find(client, campaign)
        paths = client.download_report(client.make_report(number), pdf or _place(client, number))
    _paths(paths, as_json)


def list_campaigns(server: str, limit: int, as_json: bool) -> None:
    """List campaigns there, newest first."""
    with connected(server) as client:
        found = list(islice(client.campaigns(page=min(limit, 200)), limit))
    if as_json:
        print(json.dumps([each.model_dump(mode="json") for each in found]))
    elif found:
        console.print(tables.campaigns_table(found))
    else:
        console.print("No campaign yet.")


def show(server: str, campaign: str, as_json: bool) -> None:
    """Show a campaign there."""
    with connected(server) as client:
        found = client.campaign(find(client, campaign))
        trials = list(client.trials(found.id))
    if as_json:
        print(json.dumps({**_plain(found), "trials": [trial.model_dump(mode="json") for trial in trials]}))
        return
    console.print(tables.campaign_heading(found))
    if found.reason:
        console.print(escape(found.reason))
    console.print(tables.trial_lines_table((each.index, each.label, each.verdict, each.samples_rows, each.reason) for each in trials))
    if found.findings:
        console.print(tables.findings_table(found.findings))


def kinds(server: str, as_json: bool) -> None:
    """List the kinds of plan that the server knows."""
    with connected(server) as client:
        found = [client.kind(each.name) for each in client.kinds()]
    if as_json:
        print(json.dumps({each.name: {"summary": each.summary, "schema": each.plan_schema} for each in found}))
    else:
        console.print(tables.kind_lines_table((each.name, each.summary, [plan.name for plan in each.plans]) for each in found))


def find(client: Client, campaign: str) -> int:
    """The number of a campaign: itself, or that of the `latest`. Raises NotFound."""
    if campaign == "latest":
        newest = next(iter(client.campaigns(page=1)), None)
        if newest is None:
            raise NotFound(f"there is no campaign at {client.server}")
        return newest.id
    if not campaign.isdecimal():
        raise NotFound(f"campaign: expected a number or `latest`, found {campaign!r}")
    return int(campaign)


def _content(plan: Path, testbed: str | None) -> bytes:
    if testbed is not None:
        return plan_for(plan, testbed).text.encode()
    try:
        return plan.read_bytes()
    except OSError as error:
        problem = Problem(where="file", expected="a plan that can be read", found=error.strerror or type(error).__name__)
        raise PlanError(str(plan), [problem]) from None


def _follow(client: Client, number: int, *, after: int, quiet: bool) -> Campaign:
    try:
        with stopping(), CampaignProgress(stderr if quiet else console, number) as progress:
            for sent in client.events(number, after=after):
                if sent.kind in _KNOWN:
                    progress(Event(kind=EventKind(sent.kind), text=str(sent.data.get("text", "")), data=sent.data))
    except Stopped as stop:
        _say(f"{stop}: campaign {number} goes on at {client.server}; `rackproof --server {client.server} cancel {number}` ends it")
        raise typer.Exit(Exit.LAB_FAILED) from None
    return client.campaign(number)


def _finish(client: Client, campaign: Campaign, pdf: Path | None, as_json: bool) -> None:
    paths = client.download_report(client.make_report(campaign.id), pdf or _place(client, campaign.id))
    if as_json:
        print(json.dumps(_plain(campaign)))
    else:
        if campaign.findings:
            console.print(tables.findings_table(campaign.findings))
        if campaign.verdict is not None:
            console.print(tables.verdict_text(campaign.verdict), escape(campaign.reason) or "every criterion is as the plan expects it")
        _paths(paths, as_json=False)
    raise typer.Exit(of_verdict(campaign.verdict) if campaign.verdict is not None else Exit.LAB_FAILED)


def _plain(campaign: Campaign) -> dict[str, object]:
    plain: dict[str, object] = json.loads(campaign.model_dump_json())
    return plain


def _paths(paths: tuple[Path, Path], as_json: bool) -> None:
    pdf, html = paths
    if as_json:
        print(json.dumps({"pdf": str(pdf), "html": str(html)}))
    else:
        console.print(f"PDF   {pdf}\nHTML  {html}", soft_wrap=True, highlight=False)


def _place(client: Client, campaign: int) -> Path:
    # Beside the reports of this machine, whose campaigns have numbers of their own.
    host = (urlsplit(client.server).netloc or "server").replace(":", "-").replace("[", "").replace("]", "")
    return Settings.load().reports_dir / f"{host}-campaign-{campaign}.pdf"


def _say(text: str) -> None:
    stderr.print(escape(text), highlight=False)
