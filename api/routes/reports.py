"""Which reports of a campaign are there, and where are their files?"""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from starlette.datastructures import URLPath

from api import files
from api.identity import GuardedRoute, Identity, needs
from api.problems import Refusal, responses
from api.routes.artefacts import RANGE
from api.schemas.jobs import Job, Report, Reports
from api.wiring import Number, TheSettings, TheStore
from rackproof.errors import NotFound
from rackproof.model.service import Role
from rackproof.settings import Settings
from rackproof.store.reports import ReportRecord

router = APIRouter(tags=["reports"], route_class=GuardedRoute)

Viewer = Annotated[Identity, needs(Role.VIEWER)]
Engineer = Annotated[Identity, needs(Role.ENGINEER)]
Form = Annotated[str, Path(pattern="^(pdf|html|json)$", examples=["pdf"])]

KIND = "report"
_MEDIA_TYPES = {"pdf": "application/pdf", "html": "text/html; charset=utf-8", "json": "application/json"}
#: A report is one file: its styles and figures are in it, and nothing else is loaded or run.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_FORMS = {
    "application/pdf": {"schema": {"type": "string", "format": "binary"}},
    "text/html": {"schema": {"type": "string"}},
    "application/json": {"schema": {}},
}
_FILE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The report.", "content": _FORMS},
    206: {"description": "The part that was asked for.", "content": _FORMS},
}


@router.get("/campaigns/{campaign}/report.{form}", response_class=Response, responses={**_FILE, **responses(304, 401, 403, 404, 416)})
def get_latest_report(
    request: Request, store: TheStore, settings: TheSettings, _who: Viewer, campaign: Number, form: Form, _range: RANGE = None
) -> Response:
    """The newest report of a campaign as PDF, HTML or JSON."""
    report = store.reports.latest(campaign)
    if report is None:
        store.browse.campaign(campaign)  # raises where there is none
        again = request.app.url_path_for("make_report", campaign=campaign)
        raise NotFound(f"campaign {campaign} has no report yet; POST {again} asks a worker for one")
    return _file(request, settings, report, form, "private, no-cache")


@router.get("/reports/{report}/report.{form}", response_class=Response, responses={**_FILE, **responses(304, 401, 403, 404, 416)})
def get_report_file(
    request: Request, store: TheStore, settings: TheSettings, _who: Viewer, report: Number, form: Form, _range: RANGE = None
) -> Response:
    """One report as PDF, HTML or JSON. It never changes."""
    return _file(request, settings, store.reports.get(report), form, "private, max-age=31536000, immutable")


@router.get("/campaigns/{campaign}/reports", responses=responses(401, 403, 404))
def list_reports(request: Request, store: TheStore, _who: Viewer, campaign: Number) -> Reports:
    """The reports of a campaign, the newest first."""
    found = store.reports.list(campaign)
    if not found:
        store.browse.campaign(campaign)  # raises where there is none
    return Reports(items=[_given(request, one) for one in found])


@router.post("/campaigns/{campaign}/reports", status_code=202, responses=responses(401, 403, 404, 409))
def make_report(request: Request, response: Response, store: TheStore, who: Engineer, campaign: Number) -> Job:
    """Ask a worker for a report of the campaign as it is now. Location says where to ask how far it is."""
    with who.does(store, "report.make", f"campaign {campaign}"):
        job = store.jobs.get(store.jobs.want(KIND, campaign=campaign))
    response.headers["Location"] = request.app.url_path_for("get_job", job=job.id)
    return Job.model_validate(job)


@router.get("/reports/{report}", responses=responses(401, 403, 404))
def get_report(request: Request, store: TheStore, _who: Viewer, report: Number) -> Report:
    """One report: where its files are, and whether it is pinned."""
    return _given(request, store.reports.get(report))


@router.put("/reports/{report}/pin", responses=responses(401, 403, 404))
def pin_report(request: Request, store: TheStore, who: Engineer, report: Number) -> Report:
    """Keep the report, and the samples that it rests on, whatever retention says."""
    with who.does(store, "report.pin", f"report {report}"):
        pinned = store.reports.pin(report, who.user.name)
    return _given(request, pinned)


@router.delete("/reports/{report}/pin", responses=responses(401, 403, 404))
def unpin_report(request: Request, store: TheStore, who: Engineer, report: Number) -> Report:
    """Let retention have its way with the report."""
    with who.does(store, "report.unpin", f"report {report}"):
        unpinned = store.reports.unpin(report)
    return _given(request, unpinned)


@router.get("/jobs/{job}", responses=responses(401, 403, 404))
def get_job(store: TheStore, _who: Viewer, job: Number) -> Job:
    """Something that a worker was asked for."""
    return Job.model_validate(store.jobs.get(job))


def _file(request: Request, settings: Settings, report: ReportRecord, form: str, cache: str) -> Response:
    folder = settings.reports_dir.resolve()
    path = (folder / str(getattr(report, f"{form}_path"))).resolve()
    sha256 = str(getattr(report, f"{form}_sha256"))
    if not path.is_relative_to(folder) or not path.is_file():
        raise Refusal(404, f"the files of report {report.id} are not on this machine")
    response = files.given(
        request,
        files.of_path(path),
        size=path.stat().st_size,
        sha256=sha256,
        media_type=_MEDIA_TYPES[form],
        name=f"report-{report.campaign}-{sha256[:16]}.{form}",
        cache=cache,
        inline=True,
    )
    response.headers["Content-Security-Policy"] = _POLICY
    response.headers["X-Frame-Options"] = "SAMEORIGIN"
    return response


def _given(request: Request, report: ReportRecord) -> Report:
    def url(form: str) -> URLPath:
        found: URLPath = request.app.url_path_for("get_report_file", report=report.id, form=form)
        return found

    names = ("id", "campaign", "created", "pdf_sha256", "html_sha256", "json_sha256", "pinned", "pinned_by")
    values = {name: getattr(report, name) for name in names}
    return Report(**values, pdf=url("pdf"), html=url("html"), json_=url("json"))
