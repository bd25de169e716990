"""Do the migrations make the tables that the code expects?"""

import threading

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from rackproof.errors import StoreError
from rackproof.model.campaign import CampaignState
from rackproof.model.verdict import Verdict
from rackproof.settings import Settings
from rackproof.store import Store, database, schema, schema_service


def test_the_migrated_schema_is_the_one_that_the_code_expects(database_url: str) -> None:
    engine = database.connect(database_url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        assert compare_metadata(context, schema.Base.metadata) == []
        assert schema_service.User.metadata is schema.Base.metadata
        found = connection.execute(text("SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'c'")).all()
    checks = {constraint.name for table in schema.Base.metadata.tables.values() for constraint in table.constraints}
    assert {name for name, _ in found if name.startswith("ck_")} == {str(name) for name in checks if str(name).startswith("ck_")}
    for name, definition in found:
        if name.endswith("_verdict"):
            assert all(f"'{verdict}'" in definition for verdict in Verdict)
        if name == "ck_campaigns_state":
            assert all(f"'{state}'" in definition for state in CampaignState)
    engine.dispose()


def test_the_newest_migration_is_the_one_that_the_code_names() -> None:
    config = Config()
    config.set_main_option("script_location", "rackproof:store/migrations")
    config.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(config).get_heads() == [schema.HEAD]


def test_an_empty_database_is_migrated_by_whoever_comes_first_while_others_wait(empty_database: str) -> None:
    failures: list[BaseException] = []

    def open_it() -> None:
        engine = database.connect(empty_database)
        try:
            database.migrate(engine)
        except BaseException as error:  # noqa: BLE001  # looked at below
            failures.append(error)
        finally:
            engine.dispose()

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert failures == []
    engine = database.connect(empty_database)
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT array_agg(version_num) FROM alembic_version")) == [schema.HEAD]
    engine.dispose()


def test_a_database_of_a_newer_version_is_left_alone(settings: Settings, store: Store) -> None:
    with store._engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match="made by a newer Rackproof"), Store.open(settings):
        pass
