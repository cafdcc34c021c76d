"""Rubrics of every shape that the model allows, with text that trips careless readers."""

from typing import Any

from hypothesis import strategies as st
from pydantic import JsonValue

from rubric_anchors.rubric.model import Rubric

TRAPS = [
    "no", "Yes", "on", "null", "~", "1_000", "2e-5", "1e5", "12:30", "0x1F", "0777", "3", "1.", ".nan", "<<", "=",
    "2024-01-01", "- a", "a: b", "a:", "#c", "a #c", "|", ">", "'", '"', "\\", "{x}", "[x]", "*a", "&a", "!a",
    "%a", "@a", "`a", "? a", " a ", "a\n", "\na", "a\n\n b\n", "a\tb", "\ta", "a\r\nb", "\ufeffa", "a\x85b", "a\u2028b",
    "é", "🙂", "שלום",
    "a\x00b", "a\x1b[0m", "x" * 300, "long words " * 30, "trailing \n lines \n", "true", "--- a", "...", "a\n---\nb",
]  # fmt: skip

CHARACTERS = st.characters(exclude_categories=["Cs"])
TEXT = st.sampled_from(TRAPS) | st.text(CHARACTERS, max_size=30)
SAYING = TEXT.map(lambda text: text if any(character.isalnum() for character in text) else f"{text}a")
UNIT = st.sampled_from([0.0, -0.0, 0.25, 1.0, 1e-7, 1 / 3]) | st.floats(0, 1)
KEY = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True) | st.sampled_from(
    ["no", "on", "yes", "null", "with", "key"]
)
OPTION: st.SearchStrategy[JsonValue] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OPTIONS = st.dictionaries(TEXT, OPTION, max_size=3)


@st.composite
def _tiers(draw: st.DrawFn, anchors: bool) -> list[dict[str, Any]]:
    count = draw(st.integers(2, 4))
    tiers: list[dict[str, Any]] = [{"means": draw(SAYING)} for _ in range(count)]
    for tier in tiers:
        tier["anchors"] = draw(st.lists(SAYING, min_size=int(anchors), max_size=2))
    if draw(st.booleans()):
        values = sorted(draw(st.lists(UNIT, min_size=count, max_size=count).filter(lambda v: max(v) > min(v))))
        for tier, value in zip(tiers, values, strict=True):
            tier["value"] = value
    return tiers


@st.composite
def _veto(draw: st.DrawFn, tiers: list[dict[str, Any]]) -> dict[str, Any]:
    reachable = [at for at, tier in enumerate(tiers) if at > 0 and tier.get("value", 1) > 0]
    line = draw(
        st.fixed_dictionaries({"below": UNIT.filter(bool)})
        | st.fixed_dictionaries({"above": UNIT.filter(lambda value: value < 1)})
        | st.fixed_dictionaries({"below_tier": st.sampled_from(reachable)})
    )
    effect = draw(st.sampled_from([None, "reward", "factor"]))
    return {**line, **({effect: draw(UNIT)} if effect else {})}


@st.composite
def _criterion(draw: st.DrawFn, key: str) -> dict[str, Any]:
    kind = draw(st.sampled_from(["check", "check", "exemplar", "judge", "with", "other"]))
    critic: dict[str, Any] = {"kind": kind, "with": draw(OPTIONS)}
    if kind == "check":
        critic["name"] = draw(KEY)
    elif kind != "exemplar":
        critic["name"] = draw(st.sampled_from(["", "a name", "no"]))
    fields: dict[str, Any] = {"key": key, "ask": draw(SAYING), "critic": critic}
    fields["weight"] = draw(st.sampled_from([1, 2, -1, 0.5, 1e-9, 1e9, -3.25]) | st.floats(1e-9, 1e9))
    if kind != "check" or draw(st.booleans()):
        fields["tiers"] = draw(_tiers(kind == "exemplar"))
    if draw(st.booleans()):
        fields["veto"] = draw(_veto(fields.get("tiers", [{}, {}])))
    return fields


@st.composite
def rubrics(draw: st.DrawFn) -> Rubric:
    """Any valid rubric."""
    keys = draw(st.lists(KEY, min_size=1, max_size=4, unique=True))
    fields: dict[str, Any] = {
        "id": draw(
            st.from_regex(r"[a-z0-9][a-z0-9._-]{0,12}", fullmatch=True) | st.sampled_from(["1", "no", "1.5", "null"])
        ),
        "title": draw(TEXT),
        "scope": draw(st.sampled_from(["dataset", "task", "instance"])),
        "tags": draw(st.lists(TEXT, max_size=3)),
        "language": draw(st.sampled_from(["", "en", "no", "zh-Hant"])),
        "provenance": {
            "by": draw(st.sampled_from(["human", "model", "hybrid"])),
            "author": draw(TEXT),
            "from": draw(TEXT),
        },
        "criteria": [draw(_criterion(key)) for key in keys],
        "relations": [],
        "reward": {"unjudgeable": draw(st.sampled_from(["worst", "veto"]))},
    }
    for key in draw(st.sets(st.sampled_from(keys), max_size=2)):
        beyond = draw(UNIT.filter(lambda value: value < 1))
        curve = draw(st.sampled_from(["knee", "exponential"]))
        fields["relations"].append({"saturate": {"key": key, "beyond": beyond, "curve": curve, "slope": draw(UNIT)}})
    if len(keys) > 1 and draw(st.booleans()):
        kind = draw(st.sampled_from(["synergy", "conflict", "gate"]))
        strength = draw(UNIT.filter(bool))
        fields["relations"].append({"interact": {"keys": keys[:2], "kind": kind, "strength": strength}})
    if draw(st.booleans()):
        start = draw(UNIT.filter(lambda value: value < 1))
        fields["reward"]["shape"] = {"from": start, "power": draw(st.floats(1, 8, exclude_min=True) | st.just(2))}
    return Rubric.model_validate(fields)
