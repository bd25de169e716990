"""Can samples and reports be taken whole, in part, and not twice?"""

import hashlib
import io
from datetime import UTC, datetime

import httpx
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sqlalchemy import update

from rackproof.settings import Settings
from rackproof.store import Store, schema
from tests.integration.api.seeds import PDF, Seeds
from tests.integration.api.test_reading import problem

SIZE = len(PDF)


def test_samples_are_what_was_stored(viewer: httpx.Client, seeds: Seeds) -> None:
    path = f"/campaigns/{seeds.done}/trials/1/samples"
    answer = viewer.get(path)
    assert answer.headers["content-type"] == "application/vnd.apache.parquet"
    sha256 = hashlib.sha256(answer.content).hexdigest()
    assert answer.headers["etag"] == f'"{sha256}"'
    assert viewer.get(f"/campaigns/{seeds.done}/trials/1").json()["samples_sha256"] == sha256
    assert pq.read_table(io.BytesIO(answer.content)).num_rows == 1000
    assert viewer.get(path, headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
    # A reader of Parquet begins at the end.
    tail = viewer.get(path, headers={"Range": "bytes=-8"})
    assert (tail.status_code, tail.content[-4:]) == (206, b"PAR1")
    problem(viewer.get(f"/campaigns/{seeds.done}/trials/2/samples"), 404)
    problem(viewer.get(f"/campaigns/{seeds.done}/trials/4/samples"), 404)


def test_samples_that_retention_removed_are_gone(viewer: httpx.Client, store: Store, seeds: Seeds) -> None:
    with store.transactions.step("test") as connection:
        connection.execute(update(schema.Campaign).values(samples_gone=datetime(2126, 1, 2, tzinfo=UTC)))
    assert "2126-01-02" in problem(viewer.get(f"/campaigns/{seeds.done}/trials/1/samples"), 410)["detail"]


def test_samples_of_a_trial_that_was_measured_after_the_removal_are_there(viewer: httpx.Client, store: Store, seeds: Seeds) -> None:
    with store.transactions.step("test") as connection:
        connection.execute(update(schema.Campaign).values(samples_gone=datetime(2026, 1, 2, tzinfo=UTC)))
    assert viewer.get(f"/campaigns/{seeds.done}/trials/1/samples").status_code == 200


def test_samples_that_are_lost_are_not_found(viewer: httpx.Client, settings: Settings, seeds: Seeds) -> None:
    (settings.samples_dir / str(seeds.done) / "1.parquet").unlink()
    problem(viewer.get(f"/campaigns/{seeds.done}/trials/1/samples"), 404)


def test_reports_are_given_by_campaign_and_by_content(viewer: httpx.Client, seeds: Seeds) -> None:
    latest = viewer.get(f"/campaigns/{seeds.done}/report.pdf")
    assert (latest.status_code, latest.content, latest.headers["content-type"]) == (200, PDF, "application/pdf")
    assert latest.headers["cache-control"] == "private, no-cache"
    report = viewer.get(f"/reports/{seeds.report}").json()
    same = viewer.get(report["pdf"].removeprefix("/api/v1"))
    assert (same.content, same.headers["etag"]) == (PDF, f'"{report["pdf_sha256"]}"')
    assert "immutable" in same.headers["cache-control"]
    page = viewer.get(report["html"].removeprefix("/api/v1"))
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    # Whatever a device or a person wrote into it, nothing in it runs.
    assert "script" not in page.headers["content-security-policy"]
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert viewer.get(report["json"].removeprefix("/api/v1")).json() == {"title": "report"}
    problem(viewer.get(f"/reports/{seeds.report}/report.exe"), 422)


def test_a_report_outside_of_its_folder_is_none(viewer: httpx.Client, store: Store, settings: Settings, seeds: Seeds) -> None:
    secret = settings.data_dir / "secret"
    secret.write_text("secret")
    files = {form: ("../secret", f"{form}" * 8) for form in ("pdf", "html", "json")}
    report = store.reports.add(seeds.done, **files)
    assert "secret" not in viewer.get(f"/reports/{report}/report.pdf").text
    problem(viewer.get(f"/reports/{report}/report.pdf"), 404)


@given(first=st.integers(0, SIZE + 5), last=st.integers(0, SIZE + 5) | st.just(10**17))
@hypothesis_settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_range_is_cut_as_asked(viewer: httpx.Client, seeds: Seeds, first: int, last: int) -> None:
    path = f"/campaigns/{seeds.done}/report.pdf"
    for asked, expected in (
        (f"bytes={first}-{last}", PDF[first : last + 1]),
        (f"bytes={first}-", PDF[first:]),
        (f"bytes=-{first}", PDF[max(0, SIZE - first) :] if first else b""),
    ):
        answer = viewer.get(path, headers={"Range": asked})
        if first > last and asked.endswith(f"-{last}") and not asked.startswith("bytes=-"):
            assert (answer.status_code, answer.content) == (200, PDF)
        elif expected:
            begins = SIZE - len(expected) if asked.startswith("bytes=-") else first
            assert (answer.status_code, answer.content) == (206, expected)
            assert answer.headers["content-range"] == f"bytes {begins}-{begins + len(expected) - 1}/{SIZE}"
        else:
            problem(answer, 416)
            assert answer.headers["content-range"] == f"bytes */{SIZE}"


@pytest.mark.parametrize("asked", ["bytes=0-1,3-4", "lines=1-2", "bytes=a-b", "bytes=-", "bytes=5-2", "x"])
def test_a_range_that_makes_no_sense_is_the_whole_file(viewer: httpx.Client, seeds: Seeds, asked: str) -> None:
    answer = viewer.get(f"/campaigns/{seeds.done}/report.pdf", headers={"Range": asked})
    assert (answer.status_code, answer.content) == (200, PDF)


def test_a_part_of_another_version_is_not_given(viewer: httpx.Client, seeds: Seeds) -> None:
    path = f"/campaigns/{seeds.done}/report.pdf"
    etag = viewer.get(path).headers["etag"]
    headers = {"Range": "bytes=0-9"}
    assert viewer.get(path, headers={**headers, "If-Range": etag}).content == PDF[:10]
    assert viewer.get(path, headers={**headers, "If-Range": '"other"'}).content == PDF
