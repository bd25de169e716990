"""Does an inventory say at which line it is wrong, and does it keep secrets to itself?"""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackproof.errors import InventoryError
from rackproof.inventory import parse_inventory, read_inventory
from rackproof.model.inventory import Inventory
from tests.inventories import LAB, SECRET

DOCS = Path(__file__).parents[2] / "docs" / "testbeds.md"


def read(text: str) -> Inventory:
    return parse_inventory(text.encode(), "lab1.yaml")[1]


def faults(text: str) -> list[str]:
    with pytest.raises(InventoryError) as refused:
        read(text)
    assert str(refused.value).startswith("lab1.yaml: the inventory cannot be used\n")
    return [str(problem) for problem in refused.value.problems]


def test_an_inventory_is_read_and_written_again_as_the_same() -> None:
    inventory = read(LAB)
    assert inventory.resources == ("switch-1", "trex-1")
    assert inventory.generators[0].ports == ("0", "1")
    assert inventory.links[0].cable_delay_ns == 25
    assert Inventory.model_validate(inventory.as_text_data()) == inventory


def test_the_example_of_the_docs_can_be_used() -> None:
    example = re.search(r"```yaml\n(name: .*?)```", DOCS.read_text(), re.S)
    assert example is not None
    assert read(example[1]).roles["switch-qos"]


def test_a_file_that_is_not_there_is_an_inventory_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(InventoryError, match="expected a file that can be read"):
        read_inventory(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("change", "line", "where", "found"),
    [
        (("address: 192.0.2.11", "adress: 192.0.2.11"), 6, "devices[0].adress", "the unknown key adress"),
        (("address: 192.0.2.11", "port: 0"), 6, "devices[0].port", "0"),
        (("name: lab1", "name: bench"), 1, "name", "bench, the testbed in the box"),
        (("name: trex-1", "name: switch-1"), 9, "generators[0].name", "switch-1, which devices[0] has already"),
        (("name: switch-1", "name: generator"), 4, "devices[0].name", "generator, which stands for the generator in plans"),
        (("ports: [0, 1]", "ports: [0, 1, 0]"), 9, "generators[0].ports", "0 2 times"),
        (("trex-1:1", "trex-1:7"), 12, "links[1].a", "7"),
        (("trex-1:1", "trex-9:1"), 12, "links[1].a", "trex-9"),
        (("switch-1:enp1s0f1", "switch-1:enp1s0f0"), 12, "links[1].b", "switch-1:enp1s0f0, which links[0] is at already"),
        (("trex-1:1", "switch-1:enp1s0f1"), 12, "links[1].b", "switch-1:enp1s0f1, which links[1] is at already"),
        (("media: fibre", "media: string"), 11, "links[0].media", "'string'"),
        (("    switch-1: {", "    switch-2: {"), 15, "roles.switch-qos.switch-2", "switch-2"),
        (("out: enp1s0f1", "out: enp9"), 15, "roles.switch-qos.switch-1.out", "enp9"),
        (("out: enp1s0f1", "out: enp1s0f0"), 15, "roles.switch-qos.switch-1.out", "enp1s0f0"),
    ],
)
def test_a_fault_is_named_at_its_line(change: tuple[str, str], line: int, where: str, found: str) -> None:
    text = LAB.replace(*change, 1)
    assert text != LAB
    said = faults(text)
    assert any(each.startswith(f"line {line}: {where}: expected ") and each.endswith(f", found {found}") for each in said), said


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("become: env:SUDO", f"password: {SECRET}"), 7),
        (("become: env:SUDO", f"become: [{SECRET}]"), 7),
        (("become: env:SUDO", f"private_key: {SECRET}"), 7),
        (("credentials: {user: rackproof,", f"credentials: {SECRET} #"), 7),
        (("address: 192.0.2.11", f"address: root:{SECRET}@192.0.2.11"), 6),
        (("address: 192.0.2.20", f"address: https://root:{SECRET}@192.0.2.20"), 9),
        (("address: 192.0.2.11", f"address: 192.0.2.11\n    options: {{enable_password: {SECRET}}}"), 7),
        (("address: 192.0.2.11", f"address: 192.0.2.11\n    options: {{snmp-community: {SECRET}}}"), 7),
        (("address: 192.0.2.11", f"address: 192.0.2.11\n    password: {SECRET}"), 7),
        (
            ("address: 192.0.2.11", f"address: 192.0.2.11\n    known_host: |\n      -----BEGIN OPENSSH PRIVATE KEY-----\n      {SECRET}"),
            8,
        ),
    ],
)
def test_a_secret_is_refused_at_its_line_and_not_repeated(change: tuple[str, str], line: int) -> None:
    text = LAB.replace(*change, 1)
    assert SECRET in text
    said = faults(text)
    assert any(each.startswith(f"line {line}: ") for each in said), said
    assert SECRET not in "\n".join(said)


def test_a_literal_password_is_refused_with_what_to_write_instead() -> None:
    (said,) = faults(LAB.replace("become: env:SUDO", f"password: {SECRET}"))
    assert said == (
        "line 7: devices[0].credentials.password: expected a reference to the secret, never the secret itself: "
        "env:NAME, file:/PATH or vault:/PATH#KEY, found something else, which is not shown here"
    )


def test_an_option_that_names_a_secret_may_be_a_reference() -> None:
    text = LAB.replace("address: 192.0.2.11", "address: 192.0.2.11\n    options: {enable_password: env:ENABLE, token_bucket_bytes: 1500}")
    assert read(text).devices[0].options["enable_password"] == "env:ENABLE"


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=40))
def test_no_text_as_password_is_taken_or_repeated(secret: str) -> None:
    quoted = '"' + "".join(f"\\U{ord(each):08x}" for each in f"s3cret{secret}") + '"'
    said = faults(LAB.replace("become: env:SUDO", f"become: {quoted}"))
    assert "s3cret" not in "\n".join(said)
