"""Every figure can be drawn, by workers too, from samples that only they read; labels never cover each other."""

import base64
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from rackproof.model.campaign import CampaignRecord
from rackproof.store import samples as files
from rackproof.store.stored_samples import StoredSamples
from reports import figures, placing, raster, style
from reports.document import Figure, Section
from testplans.congestion_control.sections import sections
from tests.unit.congestion_control import campaigns


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[CampaignRecord, Path]:
    """A campaign whose samples are in a folder."""
    place = tmp_path_factory.mktemp("samples")
    made = campaigns.made_up(
        lambda index, taken: files.write(place, 9, index, taken),
        schemes=["cubic"], mixes=[["cubic", "bbr"]], flows=3, flow_interval_s=1.0, runtime_s=4.0, repetitions=1,
    )  # fmt: skip
    return made, place


def drawn(parts: list[Section], draw: str) -> list[Figure]:
    found = [block for part in parts for block in (*part.blocks, *drawn(list(part.sections), draw)) if isinstance(block, Figure)]
    return [figure for figure in found if figure.draw.__name__ == draw]


def image_of(svg: str) -> Image.Image:
    (found,) = re.findall(r'href="data:image/png;base64,([^"]+)"', svg)
    return Image.open(BytesIO(base64.b64decode(found)))


def colours_of(image: Image.Image) -> set[str]:
    pixels = np.unique(np.asarray(image.convert("RGB")).reshape(-1, 3), axis=0)
    return {f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in pixels}


def test_workers_read_the_samples_and_draw_every_packet_at_300_dpi(kept: tuple[CampaignRecord, Path]) -> None:
    campaign, place = kept
    made = drawn(sections(campaign, StoredSamples.of(campaign, place)), "run")
    several, mixed = figures.render({str(at): each for at, each in enumerate(made)}, workers=1).values()
    assert (several.error, mixed.error) == ("", "")
    image = image_of(several.svg)
    (box,) = re.findall(r'<image x="[\d.]+" y="[\d.]+" width="([\d.]+)" height="([\d.]+)"', several.svg)
    assert image.size == tuple(round(float(side) / 72 * 300) for side in box)
    assert colours_of(image) == {style.PAPER, *(style.queue(flow).colour for flow in range(3))}
    # Flows of different schemes have the colours of their schemes.
    assert colours_of(image_of(mixed.svg)) == {style.PAPER, style.scheme("cubic").colour, style.scheme("bbr").colour}


@pytest.mark.parametrize("removed", [True, False])
def test_where_samples_are_gone_the_percentile_stands_in_their_place(
    kept: tuple[CampaignRecord, Path], removed: bool, tmp_path: Path
) -> None:
    campaign, place = kept
    elsewhere = StoredSamples(place=place, files={}) if removed else StoredSamples.of(campaign, tmp_path)
    svg = figures.draw(drawn(sections(campaign, elsewhere), "run")[0]).svg
    assert "<image" not in svg
    assert "The packets are gone" in svg
    assert "95th percentile of delay [ms]" in svg


def test_throughput_is_dashed_as_it_comes_and_solid_as_it_leaves(kept: tuple[CampaignRecord, Path]) -> None:
    campaign, place = kept
    svg = figures.draw(drawn(sections(campaign, StoredSamples.of(campaign, place)), "run")[1]).svg
    for scheme in ("cubic", "bbr"):
        lines = re.findall(rf'<polyline points="[^"]+" style="[^"]*stroke: {style.scheme(scheme).colour};[^"]*"', svg)
        assert len([line for line in lines if "dasharray" in line]) == 1
        assert len([line for line in lines if "dasharray" not in line]) == 2  # the line and its key
    assert "<polygon" in svg  # capacity


def test_what_a_flow_is_called_is_text_whatever_it_holds(kept: tuple[CampaignRecord, Path]) -> None:
    campaign, place = kept
    figure = drawn(sections(campaign, StoredSamples.of(campaign, place)), "run")[0]
    data: dict[str, Any] = {**figure.data, "flows": [{**figure.data["flows"][0], "title": '<script>"&'}]}
    made = figures.draw(Figure(caption="", alt="", draw=figure.draw, data=data, sketched=True))
    assert made.error == ""
    assert "&lt;script&gt;&quot;&amp;" in made.svg


def test_the_summary_charts_have_a_colour_and_a_marker_for_each_scheme() -> None:
    campaign = campaigns.made_up(runtime_s=2.0, repetitions=2)
    made = sections(campaign, StoredSamples(place=Path(), files={}))
    for name in ("means", "runs"):
        (figure,) = drawn(made, name)
        svg = figures.draw(figure).svg
        assert all(style.scheme(scheme).colour in svg for scheme in campaigns.LABELS)
        assert all(f">{label}<" in svg for label in campaigns.LABELS.values())


def test_a_single_point_can_be_drawn() -> None:
    campaign = campaigns.made_up(schemes=["bbr"], runtime_s=2.0, repetitions=1)
    made = sections(campaign, StoredSamples(place=Path(), files={}))
    assert [figures.draw(drawn(made, name)[0]).error for name in ("means", "runs", "run")] == [""] * 3


@pytest.mark.parametrize("seed", range(5))
def test_labels_cover_neither_each_other_nor_a_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    crowd = [(float(x), float(y)) for x, y in rng.normal(200, 8, (12, 2))]
    points = [*crowd, *((float(x), float(y)) for x, y in rng.uniform(20, 380, (20, 2)))]
    sizes = [(float(width), 10.0) for width in rng.uniform(20, 60, len(points))]
    bounds = (0.0, 0.0, 400.0, 400.0)
    centres = placing.place(points, sizes, bounds, clear=4)
    boxes = [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for (x, y), (w, h) in zip(centres, sizes, strict=True)]
    for at, one in enumerate(boxes):
        assert one[0] >= 0
        assert one[1] >= 0
        assert one[2] <= 400
        assert one[3] <= 400
        assert not [other for other in boxes[:at] if one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]]
        assert not [point for point in points if one[0] < point[0] < one[2] and one[1] < point[1] < one[3]]


def test_a_raster_holds_every_point_that_lies_within() -> None:
    across, up = np.array([0.0, 1.0, 0.5, 2.0, 0.5]), np.array([0.0, 1.0, 0.5, 0.5, -0.1])
    image = Image.open(BytesIO(raster.scatter((72.0, 36.0), across, up, np.array([0, 1, 0, 1, 1]), ["#ff0000", "#0000ff"]))).convert("RGB")
    assert image.size == (300, 150)
    assert image.getpixel((0, 149)) == (255, 0, 0)
    assert image.getpixel((299, 0)) == (0, 0, 255)
    counted = {colour: count for count, colour in image.getcolors() or ()}
    assert counted[255, 0, 0] == 2 * counted[0, 0, 255]
    assert set(counted) == {(255, 255, 255), (255, 0, 0), (0, 0, 255)}
