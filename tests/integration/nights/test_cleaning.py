"""Do old samples go, and only those: never what a pinned report rests on, and never a measurement?"""

import time
from dataclasses import fields
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

from orchestrator.service.cleaning import Cleaning
from rackproof.errors import StoreError
from rackproof.model.campaign import SamplesFile
from rackproof.model.traffic import RECORD_DTYPE, Samples
from rackproof.settings import Settings
from rackproof.store import Store, objects, samples
from rackproof.store.retention import BACKUP_LOCK
from testplans.submission import submission
from tests.integration.nights.suites import ABOUT, a_plan, a_testbed, end


def some_samples(rows: int = 3) -> Samples:
    return Samples(**{column.name: np.zeros(rows, RECORD_DTYPE[column.name]) for column in fields(Samples)})


def old_campaign(store: Store, days: float, trials: int = 2) -> int:
    """A campaign that ended so long ago, with the samples of its trials."""
    a_testbed(store)
    campaign = store.queue.submit(**submission(a_plan(trials=trials).encode()).columns())
    for index in range(1, trials + 1):
        file = store.write_samples(campaign, index, some_samples())
        run(
            store,
            "UPDATE trials SET samples_path = :path, samples_sha256 = :sha256, samples_rows = :rows "
            "WHERE campaign_id = :campaign AND index = :index",
            path=file.path,
            sha256=file.sha256,
            rows=file.rows,
            campaign=campaign,
            index=index,
        )
    end(store, campaign)
    run(store, "UPDATE campaigns SET ended = now() - :days * interval '1 day' WHERE id = :campaign", campaign=campaign, days=days)
    return campaign


def run(store: Store, statement: str, **values: object) -> int:
    with store.transactions.step("a test") as connection:
        return connection.execute(text(statement), values).rowcount


def samples_of(store: Store, campaign: int) -> list[SamplesFile]:
    return [trial.samples for trial in store.campaign(campaign).trials if trial.samples is not None]


def are_there(store: Store, campaign: int) -> bool:
    found = []
    for file in samples_of(store, campaign):
        try:
            found.append(len(store.read_samples(file)) == file.rows)
        except StoreError:
            found.append(False)
    assert len(set(found)) == 1
    return found[0]


def gone(store: Store, campaign: int) -> bool:
    with store.transactions.step("a test") as connection:
        return connection.scalar(text("SELECT samples_gone FROM campaigns WHERE id = :id"), {"id": campaign}) is not None


def cleaning(settings: Settings, store: Store, days: int | None = 30) -> Cleaning:
    return Cleaning(settings.model_copy(update={"keep_samples_days": days}), store, ABOUT)


def pin(store: Store, campaign: int) -> int:
    sha = f"{campaign:064x}"
    report = store.reports.add(campaign, **{form: (f"report-{campaign}.{form}", sha) for form in ("pdf", "html", "json")})
    store.reports.pin(report, "ada")
    return report


def test_samples_older_than_the_setting_go_and_what_rests_on_them_stays(settings: Settings, store: Store) -> None:
    old, young = old_campaign(store, days=31), old_campaign(store, days=29)
    before = store.campaign(old)
    assert cleaning(settings, store).run() == 3600
    assert (gone(store, old), are_there(store, old)) == (True, False)
    assert (gone(store, young), are_there(store, young)) == (False, True)
    assert store.campaign(old) == before, "where they were, and their SHA-256, stays written down"
    assert not (settings.samples_dir / str(old)).exists()


def test_without_the_setting_everything_stays(settings: Settings, store: Store) -> None:
    old = old_campaign(store, days=10_000)
    cleaning(settings, store, days=None).run()
    assert (gone(store, old), are_there(store, old)) == (False, True)


def test_what_a_pinned_report_rests_on_stays_until_it_is_unpinned(settings: Settings, store: Store) -> None:
    old = old_campaign(store, days=31)
    report = pin(store, old)
    duty = cleaning(settings, store)
    duty.run()
    assert (gone(store, old), are_there(store, old)) == (False, True)
    store.reports.unpin(report)
    duty.run()
    assert (gone(store, old), are_there(store, old)) == (True, False)


def test_a_campaign_that_has_not_ended_keeps_its_samples(settings: Settings, store: Store) -> None:
    old = old_campaign(store, days=31)
    run(store, "UPDATE campaigns SET state = 'RUNNING' WHERE id = :id", id=old)
    cleaning(settings, store).run()
    assert (gone(store, old), are_there(store, old)) == (False, True)


def test_a_process_that_died_between_marking_and_deleting_leaves_nothing_for_ever(settings: Settings, store: Store) -> None:
    old = old_campaign(store, days=31)
    assert store.retention.mark(timedelta(days=30)) == [old]
    (settings.samples_dir / str(old) / ".2.parquet.part").write_bytes(b"half")
    (settings.samples_dir / str(old) / "1.parquet").unlink()
    duty = cleaning(settings, store, days=None)
    duty.run()
    assert not (settings.samples_dir / str(old)).exists()


def test_a_report_that_is_pinned_after_the_mark_keeps_what_is_still_there(settings: Settings, store: Store) -> None:
    old = old_campaign(store, days=31)
    store.retention.mark(timedelta(days=30))
    pin(store, old)
    cleaning(settings, store).run()
    assert are_there(store, old)


def test_samples_of_a_campaign_that_was_run_again_are_new(settings: Settings, store: Store) -> None:
    old = old_campaign(store, days=31)
    duty = cleaning(settings, store)
    duty.run()
    run(store, "UPDATE campaigns SET ended = clock_timestamp() WHERE id = :id", id=old)
    for file in samples_of(store, old):
        store.write_samples(old, int(Path(file.path).stem), some_samples())
    duty.run()
    assert are_there(store, old)


def test_nothing_is_deleted_that_is_not_a_campaigns(settings: Settings, store: Store) -> None:
    old_campaign(store, days=31)
    for name in ("999999", "notes", "١٢"):
        (settings.samples_dir / name).mkdir(parents=True)
        (settings.samples_dir / name / "1.parquet").write_bytes(b"somebody's")
    cleaning(settings, store).run()
    assert all((settings.samples_dir / name / "1.parquet").exists() for name in ("999999", "notes", "١٢"))


def test_a_backup_that_is_being_made_sees_no_file_go(settings: Settings, store: Store) -> None:
    old = old_campaign(store, days=31)
    duty = cleaning(settings, store)
    with store.transactions.engine.connect() as backup:
        backup.execute(text("SELECT pg_advisory_lock_shared(:key)"), {"key": BACKUP_LOCK})
        duty.run()
        assert (gone(store, old), are_there(store, old)) == (True, True)
        backup.invalidate()  # the connection ends, as with its process, and the database notices that a moment later
    deadline = time.monotonic() + 30
    while are_there(store, old):
        assert time.monotonic() < deadline
        duty.run()


def test_a_slow_database_lets_one_campaign_go_at_a_time(settings: Settings, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.service.cleaning._BUDGET_S", 0.0)
    campaigns = [old_campaign(store, days=31) for _ in range(2)]
    duty = cleaning(settings, store)
    assert duty.run() == 1.0
    assert [are_there(store, campaign) for campaign in campaigns] == [False, True]
    assert duty.run() == 3600
    assert [are_there(store, campaign) for campaign in campaigns] == [False, False]


@pytest.mark.parametrize("scheme", ["file"])
def test_samples_in_an_object_store_go_as_well(settings: Settings, database_url: str, tmp_path: Path, scheme: str) -> None:
    url = f"{scheme}://{tmp_path}/objects"
    with Store.open(settings.model_copy(update={"samples_url": url})) as store:
        old, young = old_campaign(store, days=31), old_campaign(store, days=1)
        assert sorted(objects.folders(url)) == sorted([str(old), str(young)])
        cleaning(settings, store).run()
        assert (are_there(store, old), are_there(store, young)) == (False, True)
        with pytest.raises(StoreError):
            samples.read(url, samples_of(store, old)[0])


def test_what_the_service_keeps_for_a_while_goes_after_it(settings: Settings, store: Store) -> None:
    campaign = old_campaign(store, days=1)
    run(store, "INSERT INTO users (name, role) VALUES ('ada', 'admin')")
    ages = {"old": 31, "young": 29}
    for name, days in ages.items():
        run(
            store,
            "INSERT INTO sign_ins (at, name, address, succeeded) VALUES (now() - :d * interval '1 day', :n, '', true)",
            d=days,
            n=name,
        )
        run(
            store,
            "INSERT INTO idempotency_keys (user_id, key, request_sha256, campaign_id, created) "
            "SELECT id, :n, '', :c, now() - :d * interval '1 day' FROM users",
            d=days,
            n=name,
            c=campaign,
        )
        run(store, "INSERT INTO jobs (kind, state, ended) VALUES (:n, 'DONE', now() - :d * interval '1 day')", d=days, n=name)
        run(
            store,
            "INSERT INTO sessions (id, user_id, csrf, expires) SELECT :n, id, '', now() + (30 - :d) * interval '1 day' FROM users",
            d=days,
            n=name,
        )
        run(
            store,
            "INSERT INTO one_time_codes (id, purpose, data, expires) VALUES (:n, '', '{}', now() + (30 - :d) * interval '1 day')",
            d=days,
            n=name,
        )
    run(store, "INSERT INTO jobs (kind, state, created) VALUES ('open', 'WANTED', now() - interval '1 year')")
    run(store, "INSERT INTO audit (at, user_name, action) VALUES (now() - interval '9 years', 'ada', 'login')")
    cleaning(settings, store).run()
    with store.transactions.step("a test") as connection:
        left = {
            table: sorted(connection.scalars(text(f"SELECT {column} FROM {table}")))
            for table, column in (
                ("sign_ins", "name"),
                ("idempotency_keys", "key"),
                ("jobs", "kind"),
                ("sessions", "id"),
                ("one_time_codes", "id"),
                ("audit", "action"),
            )
        }
    assert left == {
        "sign_ins": ["young"],
        "idempotency_keys": ["young"],
        "jobs": ["open", "young"],
        "sessions": ["young"],
        "one_time_codes": ["young"],
        "audit": ["login"],
    }
