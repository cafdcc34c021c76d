"""Intervals over clusters: they cover what they should, and are not given where nothing carries them."""

import numpy as np
import pytest

from rubric_anchors.evaluate import agreement as of
from rubric_anchors.evaluate.resample import FEWEST, figure, nothing


def names(n: int, each: int = 1) -> list[str]:
    return [f"c{at // each}" for at in range(n)]


def test_the_interval_of_a_mean_is_about_the_normal_one() -> None:
    hits = np.random.default_rng(1).random(300)
    found = figure(of.share(hits), names(300), 2, undefined="")
    error = hits.std(ddof=1) / np.sqrt(300)
    assert found.value == pytest.approx(hits.mean())
    assert found.low == pytest.approx(hits.mean() - 1.96 * error, abs=0.15 * error)
    assert found.high == pytest.approx(hits.mean() + 1.96 * error, abs=0.15 * error)


def test_rows_of_one_cluster_are_drawn_together() -> None:
    # Ten equal rows a cluster say no more than one: the interval is as wide as without the copies.
    hits = np.random.default_rng(2).random(40)
    alone = figure(of.share(hits), names(40), 5, undefined="")
    copied = figure(of.share(np.repeat(hits, 10)), names(400, 10), 5, undefined="")
    assert alone.low is not None
    assert copied.low == pytest.approx(alone.low, abs=0.01)
    blind = figure(of.share(np.repeat(hits, 10)), names(400), 5, undefined="")
    assert blind.low is not None
    assert blind.low - alone.low > 0.03


def test_intervals_of_kappa_cover_the_truth_about_nineteen_times_in_twenty() -> None:
    source, trials, held = np.random.default_rng(8), 120, 0
    for trial in range(trials):
        shared = source.normal(0, 1, 80)
        x, y = shared + source.normal(0, 1, 80), shared + source.normal(0, 1, 80)
        found = figure(of.kappa(x, y), names(80), trial, undefined="")
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.5 <= found.high  # 2 cov / (var + var), with cov 1 and variances 2
    assert 0.88 * trials <= held <= trials


@pytest.mark.parametrize("count", [1, FEWEST - 1])
def test_few_clusters_give_the_figure_without_an_interval_and_say_so(count: int) -> None:
    found = figure(of.share(np.linspace(0, 1, 30)), [f"c{at % count}" for at in range(30)], 0, undefined="")
    assert found.value == pytest.approx(0.5)
    assert (found.low, found.high) == (None, None)
    assert f"{count} clusters" in found.reason


def test_a_perfect_share_is_not_certainty() -> None:
    few, many = (figure(of.share(np.ones(n)), names(n), 0, undefined="", share=True) for n in (10, 300))
    # Clopper and Pearson: 10 of 10 leaves 0.025 ** (1 / 10)
    assert few.low == pytest.approx(0.6915, abs=1e-4)
    assert few.high == 1.0
    assert many.low == pytest.approx(0.9878, abs=1e-4)
    none = figure(of.share(np.zeros(10)), names(10), 0, undefined="", share=True)
    assert none.low == 0.0
    assert none.high == pytest.approx(0.3085, abs=1e-4)


def test_resamples_that_are_all_alike_give_no_interval() -> None:
    found = figure(of.share(np.full(20, 0.5)), names(20), 0, undefined="")
    assert (found.value, found.low) == (0.5, None)
    assert "all resamples" in found.reason


def test_what_is_not_defined_is_a_reason_and_never_a_number() -> None:
    flat = figure(of.kappa(np.full(20, 0.5), np.linspace(0, 1, 20)), names(20), 0, undefined="it is flat")
    assert (flat.value, flat.low, flat.reason) == (None, None, "it is flat")
    empty = figure(of.share(np.zeros(0)), [], 0, undefined="nothing there")
    assert (empty.value, empty.n, empty.reason) == (None, 0, "nothing there")
    assert nothing("why").words == "-"


def test_an_interval_is_not_given_where_many_resamples_have_no_figure() -> None:
    # One row in thirty differs: a third of the resamples do not hold it.
    x = np.zeros(30)
    x[0] = 1.0
    found = figure(of.kappa(x, x + np.linspace(0, 0.1, 30)), names(30), 0, undefined="all alike")
    assert found.value is not None
    assert found.low is None
    assert "too many resamples" in found.reason


def test_the_same_seed_gives_the_same_interval() -> None:
    x = np.random.default_rng(0).random(50)
    first, second = (figure(of.share(x), names(50), 7, undefined="") for _ in range(2))
    assert first == second
    assert first.words == f"{first.value:.3f} ({first.low:.3f} to {first.high:.3f})"
