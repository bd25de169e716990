"""Are settings read from the environment, filled in, and refused with the name of the one that is wrong?"""

from pathlib import Path

import platformdirs
import pytest

from rackproof import settings as module
from rackproof.errors import SettingsError
from rackproof.settings import Settings, default_data_dir, is_machine_root


def test_folders_follow_the_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RACKPROOF_DATA_DIR", str(tmp_path / "data"))
    settings = Settings.load()
    assert (settings.data_dir, settings.samples_dir, settings.reports_dir) == (
        tmp_path / "data",
        tmp_path / "data" / "samples",
        tmp_path / "data" / "reports",
    )
    assert settings.database_url is None
    monkeypatch.setenv("RACKPROOF_SAMPLES_DIR", str(tmp_path / "elsewhere"))
    assert Settings.load().samples_dir == tmp_path / "elsewhere"


def test_what_is_given_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RACKPROOF_DATA_DIR", "/nowhere")
    assert Settings.load(data_dir=tmp_path).data_dir == tmp_path


def test_an_empty_variable_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RACKPROOF_DATA_DIR", "")
    monkeypatch.setenv("RACKPROOF_DATABASE_URL", "")
    assert Settings.load().data_dir == default_data_dir()
    assert Settings.load().database_url is None


def test_paths_are_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert Settings.load(data_dir="here").data_dir == tmp_path / "here"
    assert Settings.load(data_dir="~/there").samples_dir == Path("/home/somebody/there/samples")


@pytest.mark.parametrize("root", [True, False])
def test_the_default_is_the_system_s_folder_for_the_machine_s_root_only(monkeypatch: pytest.MonkeyPatch, root: bool) -> None:
    monkeypatch.setattr(module, "is_machine_root", lambda: root)
    expected = Path("/var/lib/rackproof") if root else platformdirs.user_data_path("rackproof", appauthor=False)
    assert default_data_dir() == expected


def test_the_root_of_a_user_namespace_is_not_the_machine_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    for text, expected in (
        ("         0          0 4294967295\n", True),
        ("0 1000 1\n", False),
        ("0 100000 65536\n", False),
        ("0 0 1\n1 100000 65536\n", False),
    ):
        monkeypatch.setattr(Path, "read_text", lambda self, text=text: text)
        assert is_machine_root() is expected
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert is_machine_root() is False


def test_a_database_url_is_postgresql_and_stays_secret() -> None:
    settings = Settings.load(database_url="postgresql://me:hidden@db.lab/rackproof")
    assert settings.database_url is not None
    assert settings.database_url.get_secret_value() == "postgresql+psycopg://me:hidden@db.lab/rackproof"
    assert "hidden" not in repr(settings)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("DATABASE_URL", "mysql://me:hidden@db/x", "RACKPROOF_DATABASE_URL: expected postgresql://..., found mysql://"),
        ("DATABASE_URL", "me:hidden", "RACKPROOF_DATABASE_URL: expected postgresql://user:password@host:port/database"),
        ("DATABASE_URL", "postgresql://me:hidden@db", "RACKPROOF_DATABASE_URL: expected the name of a database at the end"),
        ("DATA_DIR", __file__, "RACKPROOF_DATA_DIR: expected a folder, found a file"),
    ],
)
def test_what_cannot_be_used_is_named_without_the_secret(monkeypatch: pytest.MonkeyPatch, name: str, value: str, expected: str) -> None:
    monkeypatch.setenv(f"RACKPROOF_{name}", value)
    with pytest.raises(SettingsError) as caught:
        Settings.load()
    assert expected in str(caught.value)
    assert "hidden" not in str(caught.value)
