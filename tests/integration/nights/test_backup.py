"""Does a backup hold everything, is it the same when it is put back, and is nothing touched when it must not be?"""

import hashlib
import io
import json
import os
import stat
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from rackproof.errors import Conflict, StoreError
from rackproof.model.service import TestbedState
from rackproof.settings import Settings
from rackproof.store import Store, database
from rackproof.store import restore as restoring
from rackproof.store.archive import Archive
from rackproof.store.backup import backup
from rackproof.store.restore import restore
from rackproof.store.transactions import EVENTS
from tests.integration.nights.suites import a_finding, a_plan, a_schedule, end
from tests.integration.nights.test_cleaning import old_campaign, run, samples_of, some_samples


@pytest.fixture
def other(empty_database: str, tmp_path: Path) -> Settings:
    """Another machine with an empty database."""
    return Settings.load(data_dir=tmp_path / "other", database_url=empty_database)


def reports_of(settings: Settings, store: Store, campaign: int) -> list[Path]:
    """A report with its files."""
    settings.reports_dir.mkdir(parents=True, exist_ok=True)
    files: dict[str, tuple[str, str]] = {}
    for form in ("pdf", "html", "json"):
        content = f"{form} of {campaign}".encode()
        sha = hashlib.sha256(content).hexdigest()
        files[form] = (f"report-{campaign}-{sha[:16]}.{form}", sha)
        (settings.reports_dir / files[form][0]).write_bytes(content)
    store.reports.add(campaign, **files)
    return [settings.reports_dir / path for path, _ in files.values()]


@pytest.fixture
def campaign(settings: Settings, store: Store) -> int:
    """A campaign with samples, a finding and a report, among other things that a service keeps."""
    number = old_campaign(store, days=1, trials=3)
    end(store, number, findings=[a_finding(value=float("inf"), interval=None)])
    reports_of(settings, store, number)
    a_schedule(store, plans=[a_plan("µ – <b>")])
    store.testbeds.set_state("nothing", TestbedState.OFFLINE, "new cables")
    run(store, "INSERT INTO users (name, role, password) VALUES ('ada', 'admin', '$argon2id$x')")
    run(
        store,
        "INSERT INTO workers (name, incarnation, host, pid, pid_started, version, testbeds, expires) "
        "VALUES ('worker-1', 'x', 'elsewhere', 1, 1, '0', '{}', now() - interval '1 hour')",
    )
    return number


def contents(store: Store) -> dict[str, list[str]]:
    """Every row of every table, as text."""
    with store.transactions.reading("a test") as connection:
        tables = connection.execute(
            text("SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('public', 'dbos') ORDER BY 1, 2")
        ).all()
        return {
            f"{schema}.{table}": sorted(connection.scalars(text(f'SELECT t::text FROM "{schema}"."{table}" t'))) for schema, table in tables
        }


def definitions(store: Store) -> dict[str, list[str]]:
    """Everything else that a database knows of itself."""
    questions = {
        "constraints": "SELECT conrelid::regclass::text || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE connamespace::regnamespace::text IN ('public', 'dbos')",
        "indexes": "SELECT indexdef FROM pg_indexes WHERE schemaname IN ('public', 'dbos')",
        "triggers": "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
        "functions": "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace::regnamespace::text IN ('public', 'dbos')",
        "columns": "SELECT table_schema || '.' || table_name || ' ' || column_name || ' ' || data_type || coalesce(column_default, '') "
        "|| is_identity FROM information_schema.columns WHERE table_schema IN ('public', 'dbos')",
        "sequences": "SELECT schemaname || '.' || sequencename || ' ' || coalesce(last_value, 0) FROM pg_sequences",
    }
    with store.transactions.reading("a test") as connection:
        return {what: sorted(connection.scalars(text(question))) for what, question in questions.items()}


def files(settings: Settings) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for folder in (settings.samples_dir, settings.reports_dir):
        found |= {f"{folder.name}/{path.relative_to(folder)}": path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return found


def with_dbos(settings: Settings) -> None:
    """The tables of DBOS, as DBOS makes them, with a workflow in them."""
    assert settings.database_url is not None
    url = settings.database_url.get_secret_value()
    done = subprocess.run(
        [str(Path(sys.executable).with_name("dbos")), "migrate", "--sys-db-url", url],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    engine = database.connect(url)
    with engine.begin() as connection:
        columns = "workflow_uuid, status, name, created_at, updated_at"
        connection.execute(text(f"INSERT INTO dbos.workflow_status ({columns}) VALUES ('campaign-1-1', 'PENDING', 'campaign', 1, 1)"))
    engine.dispose()


def test_a_backup_put_back_on_another_machine_is_the_same_service(
    settings: Settings, store: Store, other: Settings, campaign: int, tmp_path: Path
) -> None:
    with_dbos(settings)
    before, defined, kept, record = contents(store), definitions(store), files(settings), store.campaign(campaign)
    made = backup(settings, store, tmp_path / "backup.tar")
    assert (made.samples, made.reports, made.missing) == (3, 3, ())
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    assert before["dbos.workflow_status"]
    assert len(kept) == 6
    with Store.open(other) as there:
        back = restore(other, there, tmp_path / "backup.tar")
        assert back == made
        assert contents(there) == before
        assert definitions(there) == defined
        assert files(other) == kept
        assert there.campaign(campaign) == record
        assert all(len(there.read_samples(file)) == file.rows for file in samples_of(there, campaign))
        later = old_campaign(there, days=0)
        assert later > campaign, "ids go on where they were"
        assert EVENTS in str(definitions(there)["functions"]), "whoever listens hears of events there, too"
    assert list(other.data_dir.glob(".restore-*")) == []
    assert sorted(path.name for path in tmp_path.glob("*backup*")) == ["backup.tar"]


def test_a_database_that_is_not_empty_is_replaced_only_when_asked_to(
    settings: Settings, store: Store, other: Settings, campaign: int, tmp_path: Path
) -> None:
    backup(settings, store, tmp_path / "backup.tar")
    with Store.open(other) as there:
        theirs = [old_campaign(there, days=1, trials=5) for _ in range(3)]
        own = other.samples_dir / "notes.txt"
        own.write_text("somebody's")
        was, had = contents(there), files(other)
        with pytest.raises(Conflict, match=r"not empty .*campaigns.*--replace"):
            restore(other, there, tmp_path / "backup.tar")
        assert (contents(there), files(other)) == (was, had)
        restore(other, there, tmp_path / "backup.tar", replace=True)
        assert contents(there) == contents(store)
        assert files(other) == {**files(settings), "samples/notes.txt": b"somebody's"}
        assert [summary.id for summary in there.campaigns()] == [campaign]
    assert campaign in theirs


def test_while_anybody_uses_the_database_nothing_is_put_back(
    settings: Settings, store: Store, other: Settings, campaign: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup(settings, store, tmp_path / "backup.tar")
    with Store.open(other) as there:
        with Store.open(other) as api, monkeypatch.context() as patched:
            patched.setattr("rackproof.store.restore.GONE_S", 0.0)
            api.campaigns()
            with pytest.raises(Conflict, match=f"others use this database .*rackproof {os.getpid()}"):
                restore(other, there, tmp_path / "backup.tar", replace=True)
        run(
            there,
            "INSERT INTO workers (name, incarnation, host, pid, pid_started, version, testbeds, expires) "
            "VALUES ('worker-7', 'x', 'elsewhere', 1, 1, '0', '{}', now() + interval '1 hour')",
        )
        with pytest.raises(Conflict, match="worker-7"):
            restore(other, there, tmp_path / "backup.tar", replace=True)
        assert there.campaigns() == []


def test_a_session_that_is_just_ending_keeps_nobody_from_putting_back(other: Settings) -> None:
    assert other.database_url is not None
    engine = database.connect(other.database_url.get_secret_value())
    with Store.open(other) as there, engine.connect() as ending:
        ending.detach()
        timer = threading.Timer(0.3, ending.close)
        timer.start()
        restoring._refuse(there, replace=False)
        assert ending.closed
        timer.join(30)
    engine.dispose()


def damage(path: Path, how: Callable[[dict[str, bytes]], None]) -> None:
    """Write the tar anew with other members."""
    with tarfile.open(path) as tar:
        members = {member.name: extracted.read() for member in tar if (extracted := tar.extractfile(member)) is not None}
    how(members)
    with tarfile.open(path, "w") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


def flip(members: dict[str, bytes]) -> None:
    name = next(name for name in members if name.startswith("samples/"))
    members[name] = members[name][:-1] + bytes([members[name][-1] ^ 1])


def flip_database(members: dict[str, bytes]) -> None:
    members["database.dump"] = members["database.dump"][:-1] + bytes([members["database.dump"][-1] ^ 1])


def lose_report(members: dict[str, bytes]) -> None:
    del members[next(name for name in members if name.startswith("reports/"))]


def lose_manifest(members: dict[str, bytes]) -> None:
    del members["manifest.json"]


def escape(members: dict[str, bytes]) -> None:
    manifest = json.loads(members.pop("manifest.json"))
    members["samples/../../escaped"] = b""
    manifest["members"]["samples/../../escaped"] = hashlib.sha256(b"").hexdigest()
    members["manifest.json"] = json.dumps(manifest).encode()


def newer(members: dict[str, bytes]) -> None:
    manifest = json.loads(members.pop("manifest.json"))
    members["manifest.json"] = json.dumps({**manifest, "revision": "9999"}).encode()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (flip, "was damaged: samples/"),
        (flip_database, "was damaged: database"),
        (lose_report, "was damaged: reports/"),
        (lose_manifest, "not whole"),
        (escape, "no place in it"),
        (newer, "made by a newer Rackproof"),
    ],
)
def test_a_backup_that_is_not_what_was_written_is_refused_before_anything_is_touched(
    settings: Settings, store: Store, other: Settings, campaign: int, tmp_path: Path, how: Callable[[dict[str, bytes]], None], said: str
) -> None:
    path = tmp_path / "backup.tar"
    backup(settings, store, path)
    damage(path, how)
    with Store.open(other) as there:
        old_campaign(there, days=1)
        was, had = contents(there), files(other)
        with pytest.raises(StoreError, match=said):
            restore(other, there, path, replace=True)
        assert (contents(there), files(other)) == (was, had)


@pytest.mark.parametrize("size", [0, 700, 10_000, None])
def test_half_a_backup_is_none(settings: Settings, store: Store, campaign: int, tmp_path: Path, size: int | None) -> None:
    path = tmp_path / "backup.tar"
    backup(settings, store, path)
    if size is None:  # all but the end of what is written last
        with tarfile.open(path) as tar:
            last = tar.getmember("manifest.json")
        size = last.offset_data + last.size - 1
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(StoreError):
        Archive.verified(path)


def test_a_dump_that_cannot_be_put_back_leaves_the_database_as_it_was(
    settings: Settings, store: Store, other: Settings, campaign: int, tmp_path: Path
) -> None:
    """Half way through, in the middle of the data, as a full disk would."""
    path = tmp_path / "backup.tar"
    backup(settings, store, path)

    def cut(members: dict[str, bytes]) -> None:
        manifest = json.loads(members.pop("manifest.json"))
        members["database.dump"] = members["database.dump"][:-2000]
        manifest["members"]["database.dump"] = hashlib.sha256(members["database.dump"]).hexdigest()
        members["manifest.json"] = json.dumps(manifest).encode()

    damage(path, cut)
    with Store.open(other) as there:
        old_campaign(there, days=1)
        was, had = contents(there), files(other)
        with pytest.raises(StoreError, match="is as it was"):
            restore(other, there, path, replace=True)
        assert (contents(there), files(other)) == (was, had)


def test_files_that_are_lost_or_not_what_they_were_are_told_and_the_rest_is_written(
    settings: Settings, store: Store, campaign: int, tmp_path: Path
) -> None:
    lost, changed, _ = samples_of(store, campaign)
    (settings.samples_dir / lost.path).unlink()
    store.write_samples(campaign, 2, some_samples(rows=9))
    made = backup(settings, store, tmp_path / "backup.tar")
    assert made.samples == 1
    assert [line.split(": ")[0] for line in made.missing] == [f"samples/{lost.path}", f"samples/{changed.path}"]
    assert Archive.verified(made.path).manifest.missing.keys() == {f"samples/{lost.path}", f"samples/{changed.path}"}


def test_samples_that_retention_took_are_not_missed(settings: Settings, store: Store, campaign: int, tmp_path: Path) -> None:
    run(store, "UPDATE campaigns SET samples_gone = clock_timestamp()")
    made = backup(settings, store, tmp_path / "backup.tar")
    assert (made.samples, made.missing) == (0, ())


def test_samples_come_from_and_go_to_an_object_store(settings: Settings, database_url: str, other: Settings, tmp_path: Path) -> None:
    here = settings.model_copy(update={"samples_url": f"file://{tmp_path}/objects"})
    there = other.model_copy(update={"samples_url": f"file://{tmp_path}/others"})
    with Store.open(here) as store, Store.open(there) as target:
        campaign = old_campaign(store, days=1)
        made = backup(here, store, tmp_path / "backup.tar")
        assert (made.samples, made.missing) == (2, ())
        restore(there, target, tmp_path / "backup.tar")
        assert all(len(target.read_samples(file)) == file.rows for file in samples_of(target, campaign))


def test_the_commands_do_it(
    settings: Settings, environment: dict[str, str], store: Store, other: Settings, campaign: int, tmp_path: Path
) -> None:
    before = contents(store)
    assert other.database_url is not None
    elsewhere = {
        **environment,
        "RACKPROOF_DATA_DIR": str(other.data_dir),
        "RACKPROOF_DATABASE_URL": other.database_url.get_secret_value(),
    }

    def rackproof(variables: dict[str, str], *arguments: Any) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-c", "from rackproof.cli.main import main; main()", *map(str, arguments)]
        return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=600, check=False)

    path = tmp_path / "backup.tar"
    done = rackproof(environment, "backup", path)
    assert done.returncode == 0, done.stderr
    assert "3 files of samples, 3 files of reports" in done.stdout
    done = rackproof(elsewhere, "restore", path)
    assert done.returncode == 0, done.stderr
    with Store.open(other) as there:
        assert contents(there) == before
    (settings.samples_dir / str(campaign) / "1.parquet").unlink()
    done = rackproof(environment, "backup", path)
    assert done.returncode == 3
    assert "1 files" in done.stderr


@pytest.fixture(autouse=True)
def _nothing_is_left_behind(tmp_path: Path) -> Iterator[None]:
    yield
    assert [path for path in tmp_path.rglob("*") if path.name.startswith((".restore-", "rackproof-")) or path.suffix == ".part"] == []
