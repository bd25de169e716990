"""Running a plan from the command line: testbed, store, campaign, report, in this order."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from orchestrator.bench.testbed import Bench
from orchestrator.interruption import Interruption
from orchestrator.local import local
from orchestrator.rehearsal import rehearse
from orchestrator.testbeds import opened
from rackproof.cli import tables
from rackproof.cli.find import find
from rackproof.cli.progress import CampaignProgress
from rackproof.cli.signals import stopping
from rackproof.cli.targets import BENCH, driver_of
from rackproof.errors import NotFound, PlanError, Problem
from rackproof.model.campaign import CampaignRecord, CampaignState
from rackproof.planfile import PlanFile
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.stored_samples import StoredSamples
from reports.figures import warm_up
from testplans.kind import Plan, Rehearsal
from testplans.registry import kind

if TYPE_CHECKING:
    from reports.write import ReportPaths


def resolve(plan: Plan) -> Rehearsal:
    """Rehearse a plan on the testbed that it names. Raises PlanError, LabError."""
    chosen = kind(plan.kind)
    if plan.testbed == BENCH:
        with Bench() as testbed:
            return rehearse(chosen, plan, testbed)
    interruption = Interruption()
    try:
        with Store.open(Settings.load()) as store:
            driver = driver_of(plan.testbed, store, plan.name)
            with opened(plan.testbed, driver, interruption, store) as opened_testbed:
                return rehearse(chosen, plan, opened_testbed)
    finally:
        interruption.close()


def execute(
    plan: Plan | None, file: PlanFile | None, *, pdf: Path | None, out: Console, quiet: bool, campaign: str | None = None
) -> CampaignRecord:
    """Run a plan, or go on with a campaign, and write the report. Raises PlanError, LabError, NotFound, Stopped."""
    # The process that draws figures needs a second to start: while the database starts too, and not when the report is waited for.
    warm_up()
    settings = Settings.load()
    with stopping(), Store.open(settings) as store:
        if plan is None or file is None:
            before = find(store, campaign or "latest")
            if before.state in (CampaignState.DONE, CampaignState.RUNNING):
                raise NotFound(f"campaign {before.id} is {before.state.value}: there is nothing to resume")
            chosen = kind(before.kind)
            plan = chosen.plan_model.model_validate(before.plan)
            number = before.id
        else:
            chosen = kind(plan.kind)
            number = 0
        driver = driver_of(plan.testbed, store, plan.name)
        with local(settings, store, plan.testbed, driver) as here:
            testbed = here.testbed
            if file is not None:
                store.leases.free(testbed.name, testbed.resources)
                rehearsal = rehearse(chosen, plan, testbed)
                if rehearsal.refusals:
                    raise PlanError(
                        file.source,
                        [
                            Problem(where="plan", expected=f"one that testbed {testbed.name} can run", found=refusal)
                            for refusal in rehearsal.refusals
                        ],
                    )
                number = store.create_campaign(
                    name=plan.name,
                    kind=plan.kind,
                    testbed=testbed.name,
                    plan=plan.model_dump(mode="json"),
                    plan_text=file.text,
                    plan_sha256=file.sha256,
                    trials=rehearsal.trials,
                )
            with CampaignProgress(Console(stderr=True) if quiet else out, number) as progress:
                record = here.run(number, chosen, progress)
        paths = write(record, store, pdf)
        if not quiet:
            summarise(record, paths, out)
        return record


def report_again(campaign: str, pdf: Path | None) -> "ReportPaths":
    """Write the report of a campaign that is stored. Raises NotFound, StoreError."""
    warm_up()
    with Store.open(Settings.load()) as store:
        return write(find(store, campaign), store, pdf)


def write(record: CampaignRecord, store: Store, pdf: Path | None) -> "ReportPaths":
    """Write the report of a campaign as PDF and HTML, under the reports folder unless a path is given."""
    # matplotlib and Typst are slow to import, and most commands need neither.
    from reports.campaign import document
    from reports.write import write_report

    chosen = kind(record.kind)
    folder, name = (pdf.parent, pdf.stem) if pdf is not None else (Settings.load().reports_dir, f"campaign-{record.id}")
    plan = chosen.plan_model.model_validate(record.plan)
    now = datetime.now(UTC).replace(microsecond=0)
    made = chosen.sections(record, StoredSamples.of(record, store.samples_place))
    return write_report(document(record, chosen.title, made, now, chosen.expectation(plan)), folder, name=name)


def summarise(record: CampaignRecord, paths: "ReportPaths", out: Console) -> None:
    """The comparison, the verdicts, and where the report is."""
    chosen = kind(record.kind)
    plan = chosen.plan_model.model_validate(record.plan)
    expected = [(device, criterion) for device, criteria in chosen.expectation(plan).items() for criterion in criteria]
    for table in chosen.comparison(record):
        out.print(tables.report_table(table))
    if record.findings:
        out.print(tables.findings_table(record.findings, expected))
    if record.verdict is not None:
        why = escape(record.reason) or ("every device did what the plan expects of it" if expected else "every criterion is met")
        out.print(tables.verdict_text(record.verdict), why)
    out.print(f"PDF   {paths.pdf}\nHTML  {paths.html}", soft_wrap=True, highlight=False)
