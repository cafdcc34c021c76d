"""A critic against people: what each figure says of critics made to be right, wrong, long-winded or silent."""

import numpy as np
import pytest

from rubric_anchors.evaluate.against_pairs import pair_figures, people_on_pairs
from rubric_anchors.evaluate.against_scores import NO_ROW, Rows, people_on_scores, score_figures
from rubric_anchors.evaluate.calibration import again, bins, mean_label, tallied
from rubric_anchors.evaluate.resample import Array, Figure

N = 60
NAN = float("nan")


def rows(n: int = N, lengths: Array | None = None, prompts: int = 1000) -> Rows:
    asked = tuple(f"p{at % prompts}" for at in range(n))
    return Rows(asked, asked, np.random.default_rng(3).normal(8, 1, n) if lengths is None else lengths, 0)


def scores(seed: int = 1) -> Array:
    return np.random.default_rng(seed).integers(0, 5, N) / 4


def value(figure: Figure) -> float:
    assert figure.value is not None
    return figure.value


def test_a_critic_that_says_what_people_say_is_right_in_all_figures() -> None:
    labels = scores()
    found = score_figures(labels, labels[None], rows(prompts=20))
    for name in ("kappa", "spearman", "order", "order_within_prompt", "alpha"):
        assert value(found[name]) == pytest.approx(1.0), name
    assert value(found["calibration_error"]) == pytest.approx(0.0)
    assert value(found["length"]) == pytest.approx(0.0, abs=1e-9)
    assert found["order"].low is not None
    assert found["order"].low < 1.0


def test_the_opposite_critic_is_wrong_in_all_of_them() -> None:
    labels = scores()
    found = score_figures(1 - labels, labels[None], rows())
    assert value(found["order"]) == 0.0
    assert value(found["spearman"]) == pytest.approx(-1.0)
    assert value(found["kappa"]) < 0


def test_a_critic_that_pays_for_length_shows_it_with_the_label_held_fixed() -> None:
    labels, length = scores(), np.random.default_rng(5).normal(8, 1, N)
    found = score_figures(0.5 * labels + 0.03 * length, labels[None], rows(lengths=length))
    assert value(found["length"]) == pytest.approx(0.03)


def test_a_silent_critic_and_labels_that_are_all_alike_have_reasons_in_place_of_numbers() -> None:
    silent = score_figures(np.full(N, 0.7), scores()[None], rows())
    for name in ("kappa", "spearman", "order", "length"):
        assert silent[name].value is None
        assert silent[name].reason == "the critic gives every answer the same, 0.7"
    alike = score_figures(scores(), np.full((1, N), 0.5), rows())
    assert alike["kappa"].reason == "people give every answer the same"
    assert alike["order"].value is None


def test_missing_labels_and_verdicts_are_left_out_of_every_figure() -> None:
    labels, values = scores(), scores(2)
    whole = score_figures(values[:40], labels[None, :40], rows(40))
    holes, unjudged = labels.copy(), values.copy()
    holes[40:50], unjudged[50:] = NAN, NAN
    assert score_figures(unjudged, holes[None], rows()) == whole


def test_nothing_to_compare_is_said_of_every_figure() -> None:
    found = score_figures(np.full(N, NAN), scores()[None], rows())
    assert {each.reason for each in found.values()} == {NO_ROW}
    pairs = pair_figures(np.zeros(N), np.full((1, N), NAN), rows())
    assert {each.reason for each in pairs.values()} == {NO_ROW}


def test_within_a_prompt_only_prompts_with_two_answers_count() -> None:
    labels = scores()
    assert score_figures(labels, labels[None], rows())["order_within_prompt"].reason.startswith("no two answers")
    # Twelve rows of three prompts, the rest alone: three prompts carry no interval, however many rows there are.
    mixed = tuple(f"p{at % 3}" if at < 12 else f"q{at}" for at in range(N))
    found = score_figures(labels, labels[None], Rows(mixed, mixed, rows().lengths, 0))["order_within_prompt"]
    assert found.value == 1.0
    assert found.reason.startswith("no interval from 3 clusters")


def test_people_are_held_against_each_other_where_several_rated() -> None:
    one, source = scores(), np.random.default_rng(9)
    other = np.clip(one + source.choice([-0.25, 0.0, 0.25], N), 0, 1)
    third = np.where(np.arange(N) % 2 == 0, one, NAN)
    found = people_on_scores(np.stack([one, other, third]), rows())
    assert 0.7 < value(found["alpha"]) < 1.0
    assert 0.7 < value(found["alpha_ordinal"]) < 1.0
    assert 0.85 < value(found["order"]) < 1.0
    assert people_on_scores(one[None], rows()) == {}
    apart = people_on_scores(
        np.stack([np.where(np.arange(N) < 30, one, NAN), np.where(np.arange(N) < 30, NAN, one)]), rows()
    )
    assert {each.reason for each in apart.values()} == {"nothing was rated by two people"}


def preferences(seed: int = 4) -> Array:
    return np.random.default_rng(seed).choice([-1.0, 1.0, 1.0, 0.0], N)


def test_a_pair_is_in_order_where_the_preferred_answer_is_the_better_one() -> None:
    said = preferences()
    lengths = np.random.default_rng(6).normal(0, 1, N)
    right = pair_figures(0.3 * said, said[None], rows(lengths=lengths))
    assert value(right["order"]) == 1.0
    assert right["order"].n == int((said != 0).sum())
    assert value(right["ties"]) == pytest.approx(float(np.mean(said == 0)))
    assert value(pair_figures(-0.3 * said, said[None], rows(lengths=lengths))["order"]) == 0.0


def test_swapping_the_answers_of_every_pair_changes_no_figure_but_the_sign_of_the_position() -> None:
    source, said = np.random.default_rng(7), preferences()
    apart, lengths = source.normal(0, 1, N) + 0.5 * said + 0.2, source.normal(0, 1, N)
    here = pair_figures(apart, said[None], rows(lengths=lengths))
    there = pair_figures(-apart, -said[None], rows(lengths=-lengths))
    for name in ("order", "ties", "alpha", "length", "longer"):
        assert value(there[name]) == pytest.approx(value(here[name])), name
    assert value(there["position"]) == pytest.approx(-value(here["position"]))
    assert value(here["position"]) > 0


def test_length_and_position_are_those_that_were_planted() -> None:
    said, lengths = preferences(), np.random.default_rng(6).normal(0, 1, N)
    found = pair_figures(0.4 * said + 0.05 * lengths + 0.02, said[None], rows(lengths=lengths))
    assert value(found["length"]) == pytest.approx(0.05)
    assert value(found["position"]) == pytest.approx(0.02)
    longer = pair_figures(lengths, said[None], rows(lengths=lengths))["longer"]
    people = np.mean(said * np.sign(lengths))
    assert value(longer) == pytest.approx((1 - people) / 2)


def test_which_of_chosen_and_rejected_stands_first_means_nothing() -> None:
    lengths = np.random.default_rng(6).normal(0, 1, N)
    found = pair_figures(0.1 + 0.05 * lengths, np.ones((1, N)), rows(lengths=lengths))
    assert value(found["length"]) == pytest.approx(0.05)
    assert found["position"].value is None
    assert found["alpha"].reason == found["position"].reason == "the preferred answers all stand on one side"


def test_a_critic_that_cannot_tell_the_answers_of_a_pair_apart_is_said_to_be_silent() -> None:
    found = pair_figures(np.zeros(N), preferences()[None], rows())
    assert value(found["ties"]) == 1.0
    assert found["order"].value is None
    assert "same" in found["order"].reason


def test_raters_of_pairs_are_held_against_each_other() -> None:
    said = preferences()
    other = said.copy()
    other[:6] *= -1
    found = people_on_pairs(np.stack([said, other, said]), rows())
    assert 0.6 < value(found["alpha"]) < 1.0
    assert 0.8 < value(found["order"]) < 1.0
    assert people_on_pairs(said[None], rows()) == {}


def test_the_reliability_diagram_has_the_mean_label_of_each_tenth() -> None:
    found = bins(np.array([0.0, 0.04, 1.0, NAN]), np.array([[0.2, 0.4, 0.9, 1.0], [0.4, NAN, NAN, 1.0]]))
    assert [(each.value, each.label, each.n) for each in found] == [
        (pytest.approx(0.02), pytest.approx(0.35), 2),
        (1.0, 0.9, 1),
    ]
    assert np.isnan(mean_label(np.array([[NAN], [NAN]]))).all()


def test_what_changed_when_judged_again_is_counted() -> None:
    found = again(np.array([0.1, 0.5, NAN, 0.9]), np.array([0.1, 0.7, 0.3, NAN]))
    assert found is not None
    assert (found.n, found.changed) == (2, 1)
    assert found.mean_change == pytest.approx(0.1)
    turned = again(np.array([0.2, -0.1]), np.array([0.1, 0.1]), pairs=True)
    assert turned is not None
    assert (turned.n, turned.changed) == (2, 1)
    assert again(np.array([NAN]), np.array([0.1])) is None
    assert list(tallied(["b", "", "a", "b"]).items()) == [("b", 2), ("a", 1)]
