"""What would a plan do? Found without touching anything: by reading it, or by rehearsing it for its testbed."""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from api import plans
from api.identity import GuardedRoute, Identity, needs
from api.problems import Fault, responses
from api.schemas.jobs import RehearsalJob
from api.schemas.kinds import Checked, Rehearsal, RehearsedTrial
from api.wiring import Number, TheHub, TheStore
from rackproof.errors import NotFound, PlanError
from rackproof.model.service import JobState, Role
from rackproof.store import Store
from rackproof.store.jobs import Job

router = APIRouter(tags=["plans"], route_class=GuardedRoute)

Viewer = Annotated[Identity, needs(Role.VIEWER)]
Engineer = Annotated[Identity, needs(Role.ENGINEER)]

KIND = "rehearsal"
WAIT_S = 20.0
_LABELS_MAX = 100


@router.post("/plans/check", responses=responses(401, 403, 413, 415), openapi_extra=plans.BODY)
def check_plan(_who: Viewer, content: plans.PlanBytes) -> Checked:
    """Read a plan: its faults with their lines, or how many trials it stands for and how long they take."""
    try:
        read = plans.read(content)
    except PlanError as error:
        return Checked(valid=False, problems=[Fault.of(problem) for problem in error.problems])
    return Checked(
        valid=True,
        problems=[],
        kind=read.plan.kind,
        name=read.plan.name,
        testbed=read.plan.testbed,
        trials=len(read.trials),
        duration_s=sum(trial.duration_s for trial in read.trials),
        labels=[trial.label for trial in read.trials[:_LABELS_MAX]],
    )


@router.post(
    "/rehearsals",
    response_model=RehearsalJob,
    responses={
        202: {"description": "It takes longer: Location says where to ask.", "model": RehearsalJob},
        **responses(401, 403, 404, 413, 415),
    },
    openapi_extra=plans.BODY,
)
async def rehearse_plan(
    request: Request, response: Response, store: TheStore, hub: TheHub, _who: Engineer, content: plans.PlanBytes
) -> RehearsalJob:
    """Ask the plan's testbed what the plan would do there. A worker answers, in 20 s or later."""
    number = await run_in_threadpool(_wanted, store, content)

    def ended() -> bool:
        return store.jobs.get(number).state in (JobState.DONE, JobState.FAILED)

    if not await hub.job_ended(number, ended, WAIT_S):
        response.status_code = 202
    response.headers["Location"] = request.app.url_path_for("get_rehearsal", rehearsal=number)
    return await run_in_threadpool(lambda: _rehearsal(store.jobs.get(number)))


@router.get("/rehearsals/{rehearsal}", responses=responses(401, 403, 404))
def get_rehearsal(store: TheStore, _who: Viewer, rehearsal: Number) -> RehearsalJob:
    """A rehearsal that was asked for."""
    job = store.jobs.get(rehearsal)
    if job.kind != KIND:
        raise NotFound(f"there is no rehearsal {rehearsal}")
    return _rehearsal(job)


def _wanted(store: Store, content: bytes) -> int:
    read = plans.read(content)
    testbed = store.testbeds.get(read.plan.testbed).name
    return store.jobs.want(KIND, testbed=testbed, input={"plan_text": read.file.text})


def _rehearsal(job: Job) -> RehearsalJob:
    return RehearsalJob(id=job.id, state=job.state, error=job.error, result=_result(job) if job.state is JobState.DONE else None)


def _result(job: Job) -> Rehearsal:
    """The worker's answer, each note beside its trial."""
    output = job.output or {}
    notes = {str(index): str(note) for index, note in dict(output.get("notes", {})).items()}
    return Rehearsal(
        trials=[
            RehearsedTrial(
                index=trial["index"], label=trial["label"], duration_s=trial["duration_s"], note=notes.get(str(trial["index"]), "")
            )
            for trial in output.get("trials", ())
        ],
        refusals=list(output.get("refusals", ())),
        warnings=list(output.get("warnings", ())),
        duration_s=output.get("duration_s", 0.0),
    )
