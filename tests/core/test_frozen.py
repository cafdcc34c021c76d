import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from rubric_anchors.core.frozen import Frozen
from rubric_anchors.core.ids import ID_LENGTH, canonical, content_id, derive_seed


class Point(Frozen):
    x: float
    start: float = Field(default=0.5, alias="from")
    """Where it starts."""
    tags: tuple[str, ...] = ()


class Dot(Point):
    pass


class Pair(Frozen):
    left: Point | str
    right: Point | None = None


def test_content_ids_are_pinned() -> None:
    """Ids stand in caches and manifests: a change here orphans them all."""
    assert content_id({"b": [1, 2.5, None, True], "a": "é\n"}) == "0985a6a7d1398afa"
    assert Point(x=1).content_id == "183f8f8f74b11e35"
    assert derive_seed("prompt", 7) == 6271676238232696593


def test_the_id_depends_on_content_alone() -> None:
    assert Point(x=1) == Point.model_validate({"x": 1.0, "from": 0.5, "tags": []})
    assert hash(Point(x=1)) == hash(Point(x=1, tags=()))
    assert Point(x=1) != Point(x=2)
    assert Point(x=1) != Dot(x=1)
    assert Point(x=1) != 1
    assert len({Point(x=1), Point(x=1.0), Point(x=2)}) == 2
    assert len(Point(x=1).content_id) == ID_LENGTH


def test_fields_cannot_be_set_and_unknown_ones_are_refused() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Point(x=1).x = 2  # type: ignore[misc]
    with pytest.raises(ValidationError, match="Extra inputs"):
        Point.model_validate({"x": 1, "y": 2})


def test_with_changes_takes_fields_and_aliases_and_validates() -> None:
    point = Point.model_validate({"x": 1, "from": 0.25})
    assert point.with_changes(x=2) == Point.model_validate({"x": 2, "from": 0.25})
    assert point.with_changes(start=0.75).start == 0.75
    assert point.with_changes(**{"from": 0.75}).start == 0.75
    assert point.start == 0.25
    with pytest.raises(ValidationError):
        point.with_changes(x="far")
    with pytest.raises(ValidationError, match="Extra inputs"):
        point.with_changes(y=1)


def test_a_copy_never_keeps_the_old_id() -> None:
    point = Point(x=1)
    assert point.content_id
    for other in (point.model_copy(update={"x": 2.0}), point.with_changes(x=2)):
        assert other.content_id == Point(x=2).content_id
    for same in (point.model_copy(), copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point))):  # noqa: S301
        assert same == point


def test_an_id_that_was_asked_for_is_no_field() -> None:
    pair = Pair(left=Point(x=1), right=Point(x=2))
    assert pair.left != pair.right
    assert pair.content_id == Pair(left=Point(x=1), right=Point(x=2)).content_id
    assert set(pair.model_dump()) == {"left", "right"}
    assert "content_id" not in pair.model_dump_json()


def test_a_fields_docstring_is_its_description() -> None:
    assert Point.model_json_schema()["properties"]["from"]["description"] == "Where it starts."


def test_canonical_json_refuses_what_equals_nothing() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical({"x": float("nan")})


def test_ids_take_any_text() -> None:
    assert content_id("\ud800") != content_id("\ud801")
    assert content_id("é") != content_id("e\u0301")


@given(st.lists(st.integers() | st.text(), max_size=4))
def test_seeds_are_63_bit_and_depend_on_the_parts(parts: list[int | str]) -> None:
    seed = derive_seed(*parts)
    assert 0 <= seed < 2**63
    assert seed == derive_seed(*parts)
    assert seed != derive_seed(*parts, "more")


def test_seeds_tell_numbers_from_their_digits() -> None:
    assert derive_seed("a", 1) != derive_seed("a", "1")
