"""Which reports of a campaign are finished, and where are their files?"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, func, select, update
from sqlalchemy.dialects.postgresql import insert

from rackproof.errors import NotFound
from rackproof.store import schema, schema_service
from rackproof.store.transactions import Transactions

_table = schema_service.Report


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportRecord:
    """A finished report: paths relative to the reports folder, SHA-256 in hex. pinned: since when it and its samples must stay."""

    id: int
    campaign: int
    created: datetime
    pdf_path: str
    pdf_sha256: str
    html_path: str
    html_sha256: str
    json_path: str
    json_sha256: str
    pinned: datetime | None
    pinned_by: str


class Reports:
    """Finished reports. Their files are named after their content and never change."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def add(self, campaign: int, *, pdf: tuple[str, str], html: tuple[str, str], json: tuple[str, str]) -> int:
        """Register a report, each file as its path and SHA-256; its id. The same one made again is the newest again. Raises NotFound."""
        files = {"html_path": html[0], "html_sha256": html[1], "json_path": json[0], "json_sha256": json[1]}
        adding = insert(_table).values(campaign_id=campaign, pdf_path=pdf[0], pdf_sha256=pdf[1], **files)
        again = adding.on_conflict_do_update(
            index_elements=[_table.campaign_id, _table.pdf_sha256], set_={**files, "created": func.clock_timestamp()}
        )
        with self._transactions.step(f"the report of campaign {campaign} could not be registered") as connection:
            if connection.scalar(select(schema.Campaign.id).where(schema.Campaign.id == campaign)) is None:
                raise NotFound(f"there is no campaign {campaign}")
            return connection.scalars(again.returning(_table.id)).one()

    def latest(self, campaign: int) -> ReportRecord | None:
        """The newest report of a campaign; None where there is none."""
        found = self.list(campaign, limit=1)
        return found[0] if found else None

    def list(self, campaign: int, limit: int = 100) -> "list[ReportRecord]":
        """The reports of a campaign, the newest first."""
        wanted = select(_table).where(_table.campaign_id == campaign).order_by(_table.created.desc(), _table.id.desc()).limit(limit)
        with self._transactions.step(f"the reports of campaign {campaign} could not be read") as connection:
            return [_record(row) for row in connection.execute(wanted)]

    def get(self, report: int) -> ReportRecord:
        """A report. Raises NotFound."""
        with self._transactions.step(f"report {report} could not be read") as connection:
            row = connection.execute(select(_table).where(_table.id == report)).one_or_none()
        if row is None:
            raise NotFound(f"there is no report {report}")
        return _record(row)

    def pin(self, report: int, by: str) -> ReportRecord:
        """Keep the report and the samples that it rests on; who pinned it first stays written down. Raises NotFound."""
        since = func.coalesce(_table.pinned, func.clock_timestamp())
        who = func.coalesce(func.nullif(_table.pinned_by, ""), by)
        return self._set(report, pinned=since, pinned_by=who)

    def unpin(self, report: int) -> ReportRecord:
        """The report may go when its time has come. Raises NotFound."""
        return self._set(report, pinned=None, pinned_by="")

    def _set(self, report: int, **values: Any) -> ReportRecord:
        with self._transactions.step(f"report {report} could not be pinned or unpinned") as connection:
            row = connection.execute(update(_table).where(_table.id == report).values(**values).returning(_table)).one_or_none()
        if row is None:
            raise NotFound(f"there is no report {report}")
        return _record(row)


def _record(row: Row[Any]) -> ReportRecord:
    return ReportRecord(
        id=row.id,
        campaign=row.campaign_id,
        created=row.created,
        pdf_path=row.pdf_path,
        pdf_sha256=row.pdf_sha256,
        html_path=row.html_path,
        html_sha256=row.html_sha256,
        json_path=row.json_path,
        json_sha256=row.json_sha256,
        pinned=row.pinned,
        pinned_by=row.pinned_by,
    )
