"""Are samples kept whole or not at all?"""

import hashlib
import os
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from rackproof.errors import NotFound, StoreError
from rackproof.model.traffic import RECORD_DTYPE, Samples
from rackproof.settings import Settings
from rackproof.store import Store, objects, samples
from tests.integration.store.namespaces import small_disk


def some_samples(rows: int, seed: int = 1) -> Samples:
    """Records as a generator gives them, with every column's extremes among them."""
    rng = np.random.default_rng(seed)
    records = np.zeros(rows, dtype=RECORD_DTYPE)
    records["tx_ns"] = 1_700_000_000_000_000_000 + np.cumsum(rng.integers(1, 200_000, rows))
    records["rx_ns"] = records["tx_ns"] + rng.integers(1_000, 20_000_000, rows)
    records["sequence"] = np.arange(rows)
    records["stream"] = rng.integers(0, 8, rows)
    records["frame_bytes"] = 1518
    records["pcp"] = records["stream"]
    if rows:
        records["sequence"][-1] = 2**32 - 1
        records["stream"][-1] = records["frame_bytes"][-1] = records["port"][-1] = 2**16 - 1
        records["pcp"][-1] = 255
        records["tx_ns"][0] = -(2**63)
        records["rx_ns"][0] = 2**63 - 1
    return Samples.of(records)


def assert_equal(found: Samples, expected: Samples) -> None:
    for column in fields(Samples):
        np.testing.assert_array_equal(getattr(found, column.name), getattr(expected, column.name), strict=True)


@pytest.mark.parametrize("rows", [0, 1, 15_000])
def test_samples_come_back_as_they_were_written(store: Store, rows: int) -> None:
    written = some_samples(rows)
    file = store.write_samples(7, 3, written)
    assert (file.path, file.rows) == ("7/3.parquet", rows)
    assert file.sha256 == hashlib.sha256((store.samples_dir / file.path).read_bytes()).hexdigest()
    assert_equal(store.read_samples(file), written)
    assert [path.name for path in (store.samples_dir / "7").iterdir()] == ["3.parquet"]


def test_samples_of_several_row_groups_stay_in_order(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "_ROWS_PER_GROUP", 1000)
    written = some_samples(2500)
    file = store.write_samples(1, 1, written)
    assert pq.ParquetFile(store.samples_dir / file.path).num_row_groups == 3
    assert_equal(store.read_samples(file), written)


def test_the_file_says_what_it_is_to_whoever_reads_it_without_us(store: Store) -> None:
    file = store.write_samples(12, 4, some_samples(10))
    schema = pq.read_schema(store.samples_dir / file.path)
    assert schema.metadata[b"rackproof.campaign"] == b"12"
    assert schema.metadata[b"rackproof.trial"] == b"4"
    units = {field.name: field.metadata[b"unit"] for field in schema}
    assert units == {name: unit.encode() for name, (unit, _) in samples.COLUMNS.items()}
    assert list(units) == [column.name for column in fields(Samples)]


def test_a_trial_that_runs_again_replaces_its_samples(store: Store) -> None:
    store.write_samples(1, 1, some_samples(100))
    leftover = store.samples_dir / "1" / ".1.parquet.part"
    leftover.write_bytes(b"of a killed process")
    again = some_samples(50, seed=2)
    file = store.write_samples(1, 1, again)
    assert_equal(store.read_samples(file), again)
    assert not leftover.exists()


def test_samples_that_were_changed_are_refused(store: Store) -> None:
    file = store.write_samples(1, 1, some_samples(100))
    path = store.samples_dir / file.path
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoreError, match="were changed: expected SHA-256"):
        store.read_samples(file)
    path.unlink()
    with pytest.raises(StoreError, match=r"1/1\.parquet could not be read: No such file"):
        store.read_samples(file)


def test_a_failed_write_leaves_no_file_and_keeps_the_old_one(store: Store) -> None:
    written = some_samples(100)
    file = store.write_samples(1, 1, written)
    unequal = replace(written, pcp=written.pcp[:5])
    with pytest.raises(StoreError, match="the samples of trial 1 of campaign 1 could not be stored"):
        store.write_samples(1, 1, unequal)
    assert_equal(store.read_samples(file), written)
    assert [path.name for path in (store.samples_dir / "1").iterdir()] == ["1.parquet"]


def test_a_file_where_the_folder_should_be_is_named(store: Store) -> None:
    store.samples_dir.mkdir(parents=True)
    (store.samples_dir / "1").write_text("in the way")
    with pytest.raises(StoreError, match=r"trial 2 of campaign 1 could not be stored in .*/1: File exists"):
        store.write_samples(1, 2, some_samples(1))


FILLS_THE_DISK = """
import sys
from pathlib import Path
from rackproof.errors import NotFound, StoreError
from rackproof.store import samples
from tests.integration.store.test_samples import some_samples
folder = Path(sys.argv[1])
kept = samples.write(folder, 5, 1, some_samples(2000))
try:
    samples.write(folder, 5, 2, some_samples(400_000))
except StoreError as error:
    print(error)
print(sorted(path.name for path in (folder / "5").iterdir()), len(samples.read(folder, kept)))
"""


def test_a_full_disk_is_said_with_the_trial_and_leaves_nothing_behind(tmp_path: Path) -> None:
    command = small_disk(tmp_path, "512k", [sys.executable, "-c", FILLS_THE_DISK, str(tmp_path)])
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True, env={**os.environ, "PYTHONPATH": os.getcwd()})
    said, left = done.stdout.splitlines()
    assert said.startswith("the samples of trial 2 of campaign 5 could not be stored in ")
    assert said.endswith(": the disk is full; free some space there")
    assert left == "['1.parquet'] 2000"


@pytest.fixture(params=["folder", "file", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> samples.Place:
    places: dict[str, samples.Place] = {"folder": tmp_path / "a", "file": f"file://{tmp_path}/b", "memory": f"memory://{tmp_path.name}"}
    return places[request.param]


def test_every_place_keeps_replaces_ranges_and_forgets(place: samples.Place) -> None:
    samples.write(place, 7, 3, some_samples(10))
    written = some_samples(15_000)
    file = samples.write(place, 7, 3, written)
    assert_equal(samples.read(place, file), written)
    some = samples.columns(place, file, ("rx_ns", "stream"))
    assert list(some) == ["rx_ns", "stream"]
    np.testing.assert_array_equal(some["rx_ns"], written.rx_ns, strict=True)
    length = samples.size(place, file.path)
    whole = samples.read_range(place, file.path, 0, length)
    assert (len(whole), hashlib.sha256(whole).hexdigest()) == (length, file.sha256)
    assert samples.read_range(place, file.path, 100, 50) == whole[100:150]
    assert samples.read_range(place, file.path, length - 5, 50) == whole[-5:]
    assert samples.read_range(place, file.path, length, 50) == b""
    with pytest.raises(StoreError, match="were changed: expected SHA-256"):
        samples.read(place, replace(file, sha256="0" * 64))
    samples.delete(place, file.path)
    samples.delete(place, file.path)
    with pytest.raises(NotFound, match=r"7/3\.parquet"):
        samples.size(place, file.path)
    with pytest.raises(NotFound, match=r"7/3\.parquet"):
        samples.read_range(place, file.path, 0, 1)
    with pytest.raises(StoreError, match=r"7/3\.parquet could not be read"):
        samples.read(place, file)


def test_a_store_with_a_url_keeps_its_samples_there(database_url: str, tmp_path: Path) -> None:
    settings = Settings.load(data_dir=tmp_path, database_url=database_url, samples_url=f"file://{tmp_path}/bucket")
    with Store.open(settings) as store:
        file = store.write_samples(7, 3, some_samples(10))
        assert_equal(store.read_samples(file), some_samples(10))
    assert (tmp_path / "bucket" / "7" / "3.parquet").exists()
    assert not settings.samples_dir.exists()


def test_an_object_store_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("AWS_ENDPOINT_URL", "http://127.0.0.1:9"), ("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "hunter2")):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(objects, "_RETRIES", 0)
    with pytest.raises(StoreError, match=r"^s3://lab/samples/7/3\.parquet could not be stored") as refused:
        samples.write("s3://lab/samples", 7, 3, some_samples(10))
    assert "hunter2" not in str(refused.value)
    assert "\n" not in str(refused.value)
