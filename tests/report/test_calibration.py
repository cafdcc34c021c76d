"""The picture of a calibration: well-formed, the same for the same figures, inside its box, true to them."""

import re
import xml.etree.ElementTree as ET

import pytest

pytest.importorskip("jinja2", reason="needs Jinja2 of `pip install 'rubric-anchors[report]'`")

from rubric_anchors.evaluate.calibration import Bin, Calibration, Target
from rubric_anchors.evaluate.resample import Figure, nothing
from rubric_anchors.report.calibration import LEFT, RIGHT, picture

SVG = "{http://www.w3.org/2000/svg}"


def target(key: str, order: Figure, *bins: Bin, people: Figure | None = None) -> Target:
    figures = {"order": order, "calibration_error": Figure(value=0.1, low=0.05, high=0.2, n=9)}
    return Target(key=key, kind="criterion", used=9, unlabelled=0, raters=2, figures=figures, bins=bins,
                  people={"order": people} if people else {})  # fmt: skip


def calibration(*targets: Target, data: str = "d.jsonl") -> Calibration:
    return Calibration(data=data, rubric="mine", rubric_content_id="0", kind="scores", rows=9, left_out=0,
                       clusters="prompt", seed=0, targets=targets)  # fmt: skip


WHOLE = calibration(
    target("a", Figure(value=0.75, low=0.5, high=1.0, n=9), Bin(value=0.0, label=1.0, n=4), Bin(value=1, label=0, n=5),
           people=Figure(value=0.9, low=0.8, high=1.0, n=9)),
    target("b", nothing("silent"), Bin(value=0.5, label=0.5, n=9)),
    target("c", Figure(value=0.25, n=9, reason="few"), Bin(value=0.5, label=0.5, n=9)),
    target("d", Figure(value=0.25, n=9, reason="few"), Bin(value=0.5, label=0.5, n=9)),
)  # fmt: skip


def test_figures_stand_where_they_should() -> None:
    drawn = ET.fromstring(picture(WHOLE))  # noqa: S314  our own
    whiskers = [each for each in drawn.iter(f"{SVG}line") if each.get("class") == "whisker"]
    points = [each for each in drawn.iter(f"{SVG}circle") if each.get("class") == "point"]
    people = [each for each in drawn.iter(f"{SVG}circle") if each.get("class") == "people"]
    assert [(float(each.get("x1", 0)), float(each.get("x2", 0))) for each in whiskers] == [((LEFT + RIGHT) / 2, RIGHT)]
    assert [float(each.get("cx", 0)) for each in points] == [
        LEFT + share * (RIGHT - LEFT) for share in (0.75, 0.25, 0.25)
    ]
    assert len(people) == 1
    assert "0.750 (0.500 to 1.000)" in picture(WHOLE)


def test_everything_is_inside_the_box() -> None:
    text = picture(WHOLE)
    drawn = ET.fromstring(text)  # noqa: S314  our own
    width, height = float(drawn.get("width", 0)), float(drawn.get("height", 0))
    across = [float(found) for found in re.findall(r"\b(?:x|x1|x2|cx)=\"([\d.-]+)\"", text)]
    down = [float(found) for found in re.findall(r"\b(?:y|y1|y2|cy)=\"([\d.-]+)\"", text)]
    assert 0 <= min(across) <= max(across) <= width
    assert 0 <= min(down) <= max(down) <= height


def test_the_same_figures_give_the_same_picture_and_a_file_s_name_cannot_draw() -> None:
    assert picture(WHOLE) == picture(WHOLE)
    hostile = picture(calibration(WHOLE.targets[0], data="</text><script>alert(1)</script>\u202e"))
    assert not list(ET.fromstring(hostile).iter(f"{SVG}script"))  # noqa: S314  our own
    assert "\u202e" not in hostile


def test_pairs_have_no_reliability_diagram() -> None:
    bare = calibration(target("a", Figure(value=0.75, low=0.5, high=1.0, n=9)))
    assert 'class="bin"' not in picture(bare)
    assert "Reliability" not in picture(bare)
