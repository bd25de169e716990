"""Is every part and every cable of a testbed drawn, each where it belongs?"""

import re
from itertools import combinations

from rackproof.inventory import parse_inventory
from rackproof.model.inventory import Inventory
from tests.inventories import LAB
from web.cabling import Box, drawing, speed


def inventory(**changes: object) -> Inventory:
    return Inventory.model_validate({**parse_inventory(LAB.encode(), "lab1")[1].model_dump(mode="json"), **changes})


def test_boxes_stand_side_by_side_and_hold_their_ports() -> None:
    found = drawing(inventory())
    assert [(box.name, box.what) for box in found.boxes] == [("trex-1", "generator"), ("switch-1", "device")]
    for box in found.boxes:
        assert box.x + box.width <= found.width
        assert box.y + box.height <= found.height
        assert all(box.y < port.y < box.y + box.height for port in box.ports)
    assert not any(_overlap(one, other) for one, other in combinations(found.boxes, 2))


def test_a_cable_ends_at_the_ports_that_it_names() -> None:
    found = drawing(inventory())
    ends = {
        (box.x + (box.width if port.side == "right" else 0), port.y): f"{box.name}:{port.name}" for box in found.boxes for port in box.ports
    }
    for link, cable in zip(inventory().links, found.cables, strict=True):
        numbers = [float(number) for number in re.findall(r"[-\d.]+", cable.path)]
        assert (ends[numbers[0], numbers[1]], ends[numbers[-2], numbers[-1]]) == (link.a, link.b)
    assert found.cables[0].words == "trex-1:0 to switch-1:enp1s0f0, 1 Gbit/s, fibre"


def test_a_loop_of_a_generator_bends_within_the_drawing() -> None:
    loop = [{"a": "trex-1:0", "b": "trex-1:1", "speed_mbps": 10_000}]
    found = drawing(inventory(devices=[], links=loop, roles={}))
    assert all(float(x) < found.width for x in re.findall(r"([\d.]+) [\d.]+", found.cables[0].path))


def test_nothing_is_drawn_of_nothing() -> None:
    found = drawing(Inventory(name="empty"))
    assert (found.boxes, found.cables) == ((), ())


def test_speeds_are_said_as_people_say_them() -> None:
    assert [speed(mbps) for mbps in (10, 100, 1000, 2500, 100_000)] == ["10 Mbit/s", "100 Mbit/s", "1 Gbit/s", "2.5 Gbit/s", "100 Gbit/s"]


def _overlap(one: Box, other: Box) -> bool:
    return one.x < other.x + other.width and other.x < one.x + one.width and one.y < other.y + other.height and other.y < one.y + one.height
