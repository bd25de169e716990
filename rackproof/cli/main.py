"""`rackproof`: the commands.

What a command needs is imported within it: database, numerics and namespaces take seconds to import, and most commands need few of them.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

import rackproof
from rackproof.cli import deciding, keeping, pantheon, schemes, service, testbed, users, worker
from rackproof.cli.exits import Exit, of_verdict, reported

if TYPE_CHECKING:
    from rackproof.model.campaign import CampaignRecord
    from rackproof.planfile import PlanFile
    from testplans.kind import Plan

app = typer.Typer(
    help="Rackproof tests network hardware and says how true it is to what was promised.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    rich_markup_mode="rich",
    epilog="Exit codes: 0 all PASS, 1 a FAIL, 2 bad input, 3 the lab failed.",
)
bench = typer.Typer(help="The virtual bench: network namespaces with real packets.", no_args_is_help=True)
app.add_typer(bench, name="bench")
console = Console()

PlanPath = Annotated[Path, typer.Argument(help="A plan file (YAML).", metavar="PLAN", show_default=False)]
Campaign = Annotated[str, typer.Argument(help="A campaign's number, or `latest`.", metavar="CAMPAIGN")]
TestbedName = Annotated[str | None, typer.Option("--testbed", help="Run on this testbed, whatever the plan says.", metavar="NAME")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script instead of tables.")]
PdfPath = Annotated[Path | None, typer.Option("--pdf", help="Write the PDF here (the HTML beside it).", metavar="OUT")]


def main() -> None:
    """The console script."""
    app()


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    server: Annotated[
        str | None,
        typer.Option("--server", envvar="RACKPROOF_SERVER", help="Work at this service instead of on this machine.", metavar="URL"),
    ] = None,
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    """What stands before every command."""
    if version:
        print(f"rackproof {rackproof.__version__}")
        raise typer.Exit
    # Commands that can work at a server look here.
    ctx.obj = server or None


@app.command()
def run(ctx: typer.Context, plan: PlanPath, testbed: TestbedName = None, pdf: PdfPath = None, as_json: AsJson = False) -> None:
    """Run a plan: rehearse it, run every trial, judge, and write the report."""
    if ctx.obj is not None:
        from rackproof.cli import remote

        remote.run(ctx.obj, plan, testbed, pdf, as_json)
        return
    from rackproof.cli.campaigns import execute

    with reported():
        file, loaded = _load(plan, testbed)
        record = execute(loaded, file, pdf=pdf, out=console, quiet=as_json)
    _finish(record, as_json)


@app.command()
def resume(ctx: typer.Context, campaign: Campaign = "latest", pdf: PdfPath = None, as_json: AsJson = False) -> None:
    """Go on with a campaign that was interrupted or aborted, at the trial that it was in."""
    if ctx.obj is not None:
        from rackproof.cli import remote

        remote.resume(ctx.obj, campaign, pdf, as_json)
        return
    from rackproof.cli.campaigns import execute

    with reported():
        record = execute(None, None, pdf=pdf, out=console, quiet=as_json, campaign=campaign)
    _finish(record, as_json)


@app.command()
def rehearse(ctx: typer.Context, plan: PlanPath, testbed: TestbedName = None, as_json: AsJson = False) -> None:
    """Say what a plan would do, and refuse it if this testbed cannot; nothing is configured."""
    if ctx.obj is not None:
        from rackproof.cli import remote

        remote.rehearse(ctx.obj, plan, testbed, as_json)
        return
    from rackproof.cli import rehearsals
    from rackproof.cli.campaigns import resolve

    with reported():
        _, loaded = _load(plan, testbed)
        rehearsal = resolve(loaded)
    lines = ((trial.index, trial.label, trial.duration_s, rehearsal.notes.get(trial.index, "")) for trial in rehearsal.trials)
    rehearsals.show(rehearsal, lines, as_json)


@app.command()
def report(ctx: typer.Context, campaign: Campaign = "latest", pdf: PdfPath = None, as_json: AsJson = False) -> None:
    """Write the report of a campaign from what is stored."""
    if ctx.obj is not None:
        from rackproof.cli import remote

        remote.report(ctx.obj, campaign, pdf, as_json)
        return
    from rackproof.cli.campaigns import report_again

    with reported():
        paths = report_again(campaign, pdf)
    if as_json:
        print(json.dumps({"pdf": str(paths.pdf), "html": str(paths.html)}))
    else:
        console.print(f"PDF   {paths.pdf}\nHTML  {paths.html}", soft_wrap=True, highlight=False)


@app.command("list")
def list_campaigns(
    ctx: typer.Context, limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, newest first.")] = 20, as_json: AsJson = False
) -> None:
    """List campaigns, newest first."""
    if ctx.obj is not None:
        from rackproof.cli import remote

        remote.list_campaigns(ctx.obj, limit, as_json)
        return
    from pydantic import TypeAdapter

    from rackproof.cli import tables
    from rackproof.settings import Settings
    from rackproof.store import CampaignSummary, Store

    with reported(), Store.open(Settings.load()) as store:
        found = store.campaigns(limit=limit)
    if as_json:
        print(TypeAdapter(list[CampaignSummary]).dump_json(found).decode())
    elif found:
        console.print(tables.campaigns_table(found))
    else:
        console.print("No campaign yet. Run one: rackproof run testplans/switch_qos/demo.yaml")


@app.command()
def show(ctx: typer.Context, campaign: Campaign = "latest", as_json: AsJson = False) -> None:
    """Show a campaign: its state, trials and verdicts."""
    if ctx.obj is not None:
        from rackproof.cli import remote

        remote.show(ctx.obj, campaign, as_json)
        return
    from rackproof.cli import tables
    from rackproof.cli.find import find
    from rackproof.settings import Settings
    from rackproof.store import Store

    with reported(), Store.open(Settings.load()) as store:
        record = find(store, campaign)
    if as_json:
        _print_json(record)
        return
    console.print(tables.campaign_heading(record))
    if record.reason:
        console.print(escape(record.reason))
    console.print(tables.trials_table(record))
    if record.findings:
        console.print(tables.findings_table(record.findings))


@app.command("kinds")
def list_kinds(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the kinds of plan, and the plans that are ready to run."""
    if ctx.obj is not None:
        from rackproof.cli import remote

        remote.kinds(ctx.obj, as_json)
        return
    from rackproof.cli import tables
    from testplans.registry import kinds

    with reported():
        found = kinds()
    if as_json:
        print(json.dumps({name: {"summary": each.summary, "schema": each.plan_model.model_json_schema()} for name, each in found.items()}))
    else:
        console.print(tables.kinds_table(found.values()))


@bench.command()
def check(as_json: AsJson = False) -> None:
    """Say what this machine can do, by trying it."""
    from dataclasses import asdict

    from orchestrator.bench.testbed import Bench
    from rackproof.cli import tables

    with reported(), Bench() as testbed:
        probes, rights = testbed.probe(), testbed.rights
    if as_json:
        print(json.dumps({"rights": rights, "probes": [asdict(probe) for probe in probes]}))
    else:
        console.print(tables.probes_table(probes))
    if any(probe.needed and not probe.available for probe in probes):
        raise typer.Exit(Exit.LAB_FAILED)


@bench.command()
def clean() -> None:
    """Remove what a killed run may have left: processes of the bench, and an embedded database that nobody uses."""
    from orchestrator.bench.leftovers import clean as clean_leftovers
    from rackproof.settings import Settings

    with reported():
        found = clean_leftovers(Settings.load())
    for line in found:
        console.print(line, highlight=False)
    if not found:
        console.print("Nothing to clean.")


def _load(path: Path, testbed: str | None) -> "tuple[PlanFile, Plan]":
    from rackproof.cli.targets import plan_for
    from testplans.submission import of_file

    submitted = of_file(plan_for(path, testbed))
    return submitted.file, submitted.plan


def _print_json(record: "CampaignRecord") -> None:
    from pydantic import TypeAdapter

    from rackproof.model.campaign import CampaignRecord

    print(TypeAdapter(CampaignRecord).dump_json(record).decode())


def _finish(record: "CampaignRecord", as_json: bool) -> None:
    if as_json:
        _print_json(record)
    if record.verdict is not None:
        raise typer.Exit(of_verdict(record.verdict))


for module in (deciding, service, worker, testbed, keeping, schemes, pantheon, users):
    module.register(app)
