import math
from typing import Any

import pytest
from pydantic import ValidationError

from rubric_anchors.rubric.model import Criterion, CriticSpec, Relation, Rubric, Shape, Veto

LADDER = [{"means": "Little."}, {"means": "Some."}, {"means": "Much."}]


def criterion(**fields: Any) -> dict[str, Any]:
    return {"key": "k", "ask": "It is.", "critic": {"check": "word_count"}, **fields}


def rubric(*criteria: dict[str, Any], **fields: Any) -> Rubric:
    return Rubric.model_validate({"id": "r", "criteria": list(criteria) or [criterion()], **fields})


def refusal(*criteria: dict[str, Any], **fields: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        rubric(*criteria, **fields)
    return str(caught.value)


def test_content_ids_of_rubrics_are_pinned() -> None:
    """They stand in caches and manifests: a change of the model that moves them orphans what people have paid for."""
    assert rubric().content_id == "cad0f9a50ed4dcfd"
    full = rubric(
        criterion(veto={"below": 0.5}, weight=2),
        criterion(
            key="b", critic="exemplar", tiers=[{"means": "a", "anchors": ["x"]}, {"means": "b", "anchors": ["y"]}]
        ),
        relations=[{"saturate": {"key": "k", "beyond": 0.8}}, {"interact": {"keys": ["k", "b"], "kind": "gate"}}],
        reward={"shape": {"from": 0.5}},
        provenance={"from": "a book"},
    )
    assert full.content_id == "0469e700f4979e26"


def spelled_out() -> tuple[Rubric, Rubric]:
    short = rubric(
        criterion(veto={"below": 0.5}),
        criterion(
            key="b", critic="exemplar", tiers=[{"means": "a", "anchors": ["x"]}, {"means": "b", "anchors": ["y"]}]
        ),
        relations=[{"saturate": {"key": "k", "beyond": 0.8}}, {"interact": {"keys": ["k", "b"], "kind": "gate"}}],
        reward={"shape": {}},
    )
    long = rubric(
        criterion(
            weight=1,
            critic={"kind": "check", "name": "word_count", "with": {}},
            tiers=[{"means": "No.", "value": 0, "anchors": []}, {"means": "Yes.", "value": 1}],
            veto={"below": 0.5, "above": None, "below_tier": None, "reward": 0, "factor": None},
        ),
        criterion(
            key="b",
            weight=1.0,
            critic={"exemplar": "tiers", "with": {}},
            tiers=[{"means": "a", "value": -0.0, "anchors": ["x"]}, {"means": "b", "value": 1, "anchors": ["y"]}],
            veto=None,
        ),
        schema=1,
        title="",
        scope="task",
        tags=[],
        language="",
        provenance={"by": "human", "author": "", "reviewed_by": "", "from": ""},
        relations=[
            {"saturate": {"key": "k", "beyond": 0.8, "curve": "knee", "slope": 0.25}, "interact": None},
            {"interact": {"keys": ["k", "b"], "kind": "gate", "strength": 0.2}},
        ],
        reward={"shape": {"kind": "stretch", "from": 0.7, "power": 2}, "formula": "mean", "unjudgeable": "worst"},
    )
    return short, long


def test_the_id_does_not_depend_on_whether_defaults_are_spelled_out() -> None:
    short, long = spelled_out()
    assert short == long
    assert short.content_id == long.content_id


def test_any_change_of_meaning_changes_the_id() -> None:
    short, _ = spelled_out()
    others = [
        short.with_changes(title="x"),
        short.with_changes(criteria=short.criteria[::-1]),
        short.with_changes(criteria=(short.criteria[0].with_changes(weight=1.5), short.criteria[1])),
        short.with_changes(relations=short.relations[:1]),
        short.with_changes(reward=short.reward.with_changes(shape=None)),
    ]
    assert len({short.content_id, *(other.content_id for other in others)}) == 1 + len(others)


def test_changes_go_through_aliases_and_what_was_worked_out_is_worked_out_anew() -> None:
    assert Shape().with_changes(**{"from": 0.5}).start == 0.5
    assert CriticSpec(kind="judge").with_changes(options={"n": 1}).options == {"n": 1}
    assert CriticSpec(kind="judge").with_changes(**{"with": {"n": 1}}).options == {"n": 1}
    assert Veto(below=0.5).with_changes(factor=0.2) == Veto(below=0.5, factor=0.2)
    assert rubric().with_changes(schema_version=1) == rubric()
    renamed = rubric().with_changes(id="other")
    assert renamed.keys == ("k",)
    assert rubric().criterion("k").with_changes(key="b").tiers == rubric().criterion("k").tiers


@pytest.mark.parametrize(
    ("written", "kind", "name"),
    [
        ("exemplar", "exemplar", "tiers"),
        ({"exemplar": "tiers"}, "exemplar", "tiers"),
        ("judge", "judge", ""),
        ({"judge": "strict", "with": {}}, "judge", "strict"),
        ({"check": "avoids", "with": {"words": ["a"]}}, "check", "avoids"),
        ({"kind": "check", "name": "avoids"}, "check", "avoids"),
        ({"lab": "thing"}, "lab", "thing"),
    ],
)
def test_a_critic_is_read_from_each_of_its_forms(written: object, kind: str, name: str) -> None:
    tiers = [{"means": "a", "anchors": ["x"]}, {"means": "b", "anchors": ["y"]}]
    critic = rubric(criterion(critic=written, tiers=tiers)).criteria[0].critic
    assert (critic.kind, critic.name) == (kind, name)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({}, "seen a mapping that names none"),
        ({"with": {}}, "seen a mapping that names none"),
        ({"check": "a", "min": 3}, "unknown field 'min'; a critic's options stand under `with`"),
        ({"check": "a", "wiht": {}}, "did you mean 'with'"),
        ({"check": None}, "expected the name of the check, seen nothing"),
        ({"check": ""}, "a check needs a name"),
        ("check", "a check needs a name"),
        ({"check": "a", "with": {"min": [math.nan]}}, "options hold a number that is not finite"),
        ({"exemplar": "anchors"}, "compares with the anchors of the tiers"),
        ("Check", "pattern"),
        (3, "valid dictionary"),
    ],
)
def test_what_is_no_critic_is_refused(written: object, words: str) -> None:
    assert words in refusal(criterion(critic=written))


def test_tiers_default_to_an_even_ladder_and_for_checks_to_no_and_yes() -> None:
    made = rubric(criterion(tiers=LADDER)).criteria[0]
    assert [tier.value for tier in made.tiers] == [0.0, 0.5, 1.0]
    assert [(tier.means, tier.value) for tier in rubric().criteria[0].tiers] == [("No.", 0.0), ("Yes.", 1.0)]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"tiers": [{"means": "a", "value": 0.2}, {"means": "b"}]}, "give every tier a value or none: 1 of 2 have one"),
        (
            {"tiers": [{"means": "a", "value": 0.9}, {"means": "b", "value": 0.1}]},
            "must never decrease.* seen 0.9, 0.1",
        ),
        ({"tiers": [{"means": "a", "value": 0.5}, {"means": "b", "value": 0.5}]}, "must differ in value; both are 0.5"),
        ({"tiers": [{"means": "a"}]}, "needs at least two tiers; seen one"),
        ({"tiers": [{"means": " \n"}, {"means": "b"}]}, "pattern"),
        ({"tiers": [{"means": "a", "value": math.nan}, {"means": "b", "value": 1}]}, "finite number"),
        ({"tiers": [{"means": "a", "value": 0}, {"means": "b", "value": 1.5}]}, "less than or equal to 1"),
        ({"critic": "judge"}, "'judge' needs at least two tiers; seen none"),
        ({"critic": "word_count"}, r"or write \{check: word_count\}"),
        ({"critic": "exemplar", "tiers": LADDER}, "needs anchors in every tier; tier 0 has none"),
        ({"weight": 0}, "weight 0 and neither a veto nor a relation"),
        ({"weight": math.nan}, "finite number"),
        ({"weight": math.inf}, "finite number"),
        ({"weight": 1e300}, "less than or equal to 1000000000"),
        ({"weight": 1e-12}, "a weight is 0 or at least 1e-09 in size"),
        ({"weight": 0, "veto": {"below": 0.5}}, "the weights are all 0"),
        ({"key": "Bad Key"}, "pattern"),
        ({"key": "k\n"}, "pattern"),
        ({"key": "x" * 65}, "pattern"),
        ({"ask": ""}, "pattern"),
        ({"veto": {}}, "exactly one of below, above, below_tier; seen: none"),
        ({"veto": {"below": 0.5, "above": 0.6}}, "seen: below, above"),
        ({"veto": {"below": 0.5, "reward": 0.1, "factor": 0.1}}, "one effect, reward or factor; seen both"),
        ({"veto": {"below": 0}}, "a value is never below 0"),
        ({"veto": {"above": 1}}, "a value is never above 1"),
        ({"veto": {"below_tier": 2}}, "can never be reached: the tiers are 0 to 1"),
        ({"veto": {"below_tier": 0}}, "greater than or equal to 1"),
    ],
)
def test_an_unsound_criterion_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        rubric(criterion(**fields))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"criteria": []}, "at least 1 item"),
        ({"criteria": [criterion(), criterion()]}, "'k' stands more than once"),
        (
            {"relations": [{"saturate": {"key": "kk", "beyond": 0.5}}]},
            "'kk' is no criterion; there are: k; did you mean 'k'",
        ),
        ({"relations": [{"saturate": {"key": "k", "beyond": 0.5}}] * 2}, "more than one saturate relation"),
        ({"relations": [{}]}, "either .saturate"),
        ({"relations": [{"interact": {"keys": ["k", "k"], "kind": "gate"}}]}, "two different criteria; seen k twice"),
        ({"relations": [{"interact": {"keys": ["k", "b"], "kind": "gate", "strength": 0}}]}, "greater than 0"),
        ({"reward": {"shape": {"from": 1.0}}}, "less than 1"),
        ({"reward": {"shape": {"power": 1}}}, "greater than 1"),
        ({"reward": {"formula": "healthbench", "shape": {}}}, "neither relations nor a shape"),
        ({"reward": {"formula": "healthbench"}, "criteria": [criterion(weight=-1)]}, "at least one positive weight"),
        ({"id": "Has Space"}, "pattern"),
        ({"schema": 2}, "Input should be 1"),
    ],
)
def test_an_unsound_rubric_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Rubric.model_validate({"id": "r", "criteria": [criterion()], **fields})


def test_weight_0_may_stand_beside_a_veto_or_a_relation() -> None:
    made = rubric(
        criterion(),
        criterion(key="v", weight=0, veto={"below": 0.5}),
        criterion(key="s", weight=-0.0),
        relations=[{"interact": {"keys": ["s", "k"], "kind": "gate"}}],
    )
    assert math.copysign(1, made.criterion("s").weight) == 1


def test_a_veto_that_states_no_effect_sets_the_reward_to_0() -> None:
    assert Veto(below=0.5).reward == 0.0
    assert Veto(below=0.5, factor=0.5).reward is None


def test_the_tier_of_a_value_is_the_highest_that_it_reaches() -> None:
    made = Criterion.model_validate(
        criterion(tiers=[{**tier, "value": value} for tier, value in zip(LADDER, (0.2, 0.5, 0.5), strict=True)])
    )
    assert [made.tier_of(value) for value in (0.0, 0.2, 0.49, 0.5, 1.0)] == [0, 0, 0, 2, 2]


def test_a_veto_below_a_tier_of_value_0_is_refused_as_no_value_is_below_it() -> None:
    tiers = [{**tier, "value": value} for tier, value in zip(LADDER, (0.0, 0.0, 1.0), strict=True)]
    with pytest.raises(ValidationError, match="tier 1 has the value 0, and no value is below it"):
        Criterion.model_validate(criterion(tiers=tiers, veto={"below_tier": 1}))
    assert Criterion.model_validate(criterion(tiers=tiers, veto={"below_tier": 2})).veto


def test_criteria_and_relations_are_found_by_key() -> None:
    made = rubric(criterion(), criterion(key="b"))
    assert made.keys == ("k", "b")
    assert made.criterion("b").key == "b"
    with pytest.raises(KeyError, match="no criterion 'c'; there are: k, b"):
        made.criterion("c")
    assert Relation.model_validate({"saturate": {"key": "k", "beyond": 0}}).keys == ("k",)
    assert Relation.model_validate({"interact": {"keys": ["a", "b"], "kind": "gate"}}).keys == ("a", "b")


def test_options_of_a_critic_are_not_shared_with_the_caller() -> None:
    options: dict[str, Any] = {"words": ["a"]}
    made = rubric(criterion(critic={"check": "avoids", "with": options}))
    before = made.content_id
    options["words"].append("b")
    options["more"] = 1
    assert made.criteria[0].critic.options == {"words": ["a"]}
    assert rubric(*[c.model_dump(by_alias=True) for c in made.criteria]).content_id == before
