"""Draws docs/figures/*.svg: what each aggregation strategy does to a reward.

    python benchmarks/aggregation_curves.py

Everything drawn comes out of `rubric_anchors.aggregate`; nothing is recomputed here.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rubric_anchors.aggregate import Adaptive, Contrast, Headroom, Plan, aggregate, rewards
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.rubric.outcome import Judged, Scorecard, Scored

FIGURES = Path(__file__).parent.parent / "docs" / "figures"
INK, GREY, BLUE, ORANGE, GREEN, RED = "#1f2933", "#8a94a0", "#1f6fb2", "#c9661b", "#2e8b57", "#b8323c"
STYLE: Any = {
    "axes.edgecolor": GREY, "axes.labelcolor": INK, "axes.spines.right": False, "axes.spines.top": False,
    "axes.titlesize": 10, "axes.titlecolor": INK, "font.family": "sans-serif", "font.size": 9, "text.color": INK,
    "legend.frameon": False, "lines.linewidth": 1.8, "svg.fonttype": "none", "svg.hashsalt": "rubric-anchors",
    "xtick.color": GREY, "ytick.color": GREY, "figure.facecolor": "white", "figure.constrained_layout.use": True,
}  # fmt: skip
STEPS = np.linspace(0.0, 1.0, 201)


def plan(
    weights: Sequence[float], *relations: dict[str, Any], veto: dict[str, float] | None = None, **reward: Any
) -> Plan:
    """Criteria a, b, c, ... of these weights, the first with the veto."""
    return Plan.compile(rubric(weights, *relations, veto=veto, **reward))


def rubric(
    weights: Sequence[float], *relations: dict[str, Any], veto: dict[str, float] | None = None, **reward: Any
) -> Rubric:
    levels = [{"means": "Not at all."}, {"means": "In part."}, {"means": "Fully."}]
    criteria: list[dict[str, Any]] = [
        {"key": "abcdef"[at], "ask": "It is good.", "critic": "judge", "tiers": levels, "weight": weight}
        for at, weight in enumerate(weights)
    ]
    if veto:
        criteria[0]["veto"] = veto
    return Rubric.model_validate({"id": "curve", "criteria": criteria, "relations": relations, "reward": reward})


@contextmanager
def figure(name: str, panels: int, height: float = 2.9, width: float = 3.3) -> Iterator[tuple[Figure, list[Axes]]]:
    drawn, axes = plt.subplots(1, panels, figsize=(width * panels, height), squeeze=False)
    yield drawn, list(axes[0])
    FIGURES.mkdir(parents=True, exist_ok=True)
    drawn.savefig(FIGURES / f"{name}.svg", metadata={"Date": None, "Creator": None})
    plt.close(drawn)


def label(axes: Axes, title: str, across: str, up: str) -> None:
    axes.set(title=title, xlabel=across, ylabel=up, xlim=(0, 1), ylim=(0, 1.02))


def saturation() -> None:
    knee = {"saturate": {"key": "a", "beyond": 0.6, "slope": 0.25}}
    fading = {"saturate": {"key": "a", "beyond": 0.6, "curve": "exponential"}}
    curves = [
        ((), GREY, "none"),
        ((knee,), BLUE, "knee at 0.6, slope 0.25"),
        ((fading,), ORANGE, "exponential from 0.6"),
    ]
    with figure("saturation", 2) as (_, (left, right)):
        for relations, colour, name in curves:
            left.plot(STEPS, rewards(plan([1], *relations), STEPS[:, None]), color=colour, label=name)
            balance = np.stack([STEPS, 1.0 - STEPS], axis=1)
            right.plot(STEPS, rewards(plan([1, 1], *relations), balance), color=colour)
        label(left, "One criterion: the first part counts most", "goodness of a", "reward")
        label(right, "Equal weights, a traded against b", "goodness of a (b = 1 - a)", "reward")
        right.set_ylim(0.3, 0.8)
        left.legend(loc="lower right")


def interaction() -> None:
    side = STEPS[::8]
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    kinds = ["none", "synergy", "conflict", "gate"]
    with figure("interaction", 4, 2.7, 2.5) as (drawn, panels):
        for panel, kind in zip(panels, kinds, strict=True):
            relation = [{"interact": {"keys": ["a", "b"], "kind": kind, "strength": 0.6}}] if kind != "none" else []
            height = rewards(plan([1, 1], *relation), grid).reshape(len(side), len(side))
            levels = np.linspace(0, 1, 11)
            shades = panel.contourf(side, side, height, levels=levels, cmap="YlGnBu")
            panel.contour(side, side, height, levels=levels, colors="white", linewidths=0.6)
            title = {"none": "no interaction", "gate": "a gates b, strength 0.6"}.get(kind, f"{kind}, strength 0.6")
            label(panel, title, "goodness of a", "goodness of b" if kind == "none" else "")
            panel.set(ylim=(0, 1), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
            panel.set_aspect("equal")
        drawn.colorbar(shades, ax=panels, label="reward", ticks=[0, 0.2, 0.4, 0.6, 0.8, 1])


def shape() -> None:
    maps = [(0.7, 2.0, BLUE), (0.7, 4.0, ORANGE), (0.4, 2.0, GREEN)]
    with figure("shape", 2) as (_, (left, right)):
        for panel in (left, right):
            panel.plot([0, 1], [0, 1] if panel is left else [1, 1], color=GREY, linestyle="--", label="unshaped")
        for start, power, colour in maps:
            height = rewards(plan([1], shape={"from": start, "power": power}), STEPS[:, None])
            left.plot(STEPS, height, color=colour, label=f"from {start:g}, power {power:g}")
            right.plot(STEPS[:-1] + 0.0025, np.diff(height) / np.diff(STEPS), color=colour, drawstyle="steps-mid")
        label(left, "Both ends stay where they are", "mean before shaping", "reward")
        label(right, "Slope: above 1 where it stretches", "mean before shaping", "slope")
        right.set_ylim(0, 2.2)
        left.legend(loc="upper left")


def vetoes() -> None:
    kinds: list[tuple[dict[str, float] | None, str, str]] = [
        (None, GREY, "no veto"), ({"below": 0.5, "reward": 0.0}, RED, "reward: 0"),
        ({"below": 0.5, "reward": 0.3}, ORANGE, "reward: 0.3 (at most)"),
        ({"below": 0.5, "factor": 0.5}, BLUE, "factor: 0.5"),
    ]  # fmt: skip
    with figure("veto", 2) as (_, (left, right)):
        for panel, others in ((left, 1.0), (right, 0.2)):
            values = np.stack([STEPS, np.full_like(STEPS, others)], axis=1)
            for veto, colour, name in kinds:
                height = rewards(plan([1, 2], veto=veto), values)
                silent = np.where((STEPS[1:] >= 0.5) & (STEPS[:-1] < 0.5))[0][0] + 1
                for piece in (slice(None, silent), slice(silent, None)):
                    panel.plot(STEPS[piece], height[piece], color=colour, label=name if piece.start is None else None)
            label(panel, f"a vetoes below 0.5; b is at {others:g}", "value of a", "reward")
        right.legend(*left.get_legend_handles_labels(), loc="upper left")


def adaptive() -> None:
    """Three criteria of weight 1 on made-up learning curves: soon learnt, slowly learnt, never met."""
    batches = np.arange(60)
    rise = np.stack([0.5 + 0.48 * (1 - np.exp(-batches / 8)), 0.15 + 0.6 * batches / 60, np.full(60, 0.02)], axis=1)
    names = ["soon learnt", "slowly learnt", "hardly ever met"]
    static = plan([1, 1, 1])
    schemes: list[Adaptive] = [Headroom(), Contrast()]
    with figure("adaptive", 3) as (_, panels):
        panels[0].plot(batches, rise, label=names)
        label(panels[0], "Mean goodness in each batch (made up)", "batch", "goodness")
        for panel, scheme in zip(panels[1:], schemes, strict=True):
            state, trail = scheme.start(static), []
            for means in rise:
                adapted, state = scheme.adapt(static, state, means[None])
                trail.append(adapted.share)
            panel.plot(batches, np.array(trail))
            label(panel, f"Shares under {type(scheme).__name__}()", "batch", "share of the weighted mean")
            panel.set_ylim(0, 0.62)
            panel.axhline(1 / 3, color=GREY, linestyle="--", linewidth=1)
        for panel in panels:
            panel.set_xlim(0, 59)
            for line, colour in zip(panel.lines, (BLUE, ORANGE, GREEN), strict=False):
                line.set_color(colour)
        panels[0].legend(loc="lower right", bbox_to_anchor=(1.0, 0.06))


def contributions() -> None:
    """One answer's outcome, read from left to right."""
    relations = [
        {"saturate": {"key": "a", "beyond": 0.6}},
        {"interact": {"keys": ["a", "b"], "kind": "synergy", "strength": 0.4}}
    ]  # fmt: skip
    whole = rubric([2, 2, -1], *relations, veto={"below": 0.9, "factor": 0.7}, shape={"from": 0.5, "power": 2})
    card = Scorecard(whole.content_id, whole.keys, tuple(Judged(v, 0, "figure") for v in (0.85, 0.6, 0.3)))
    outcome = aggregate(whole, card)
    assert isinstance(outcome, Scored)
    with figure("contributions", 1, 2.9, 6.6) as (_, (axes,)):
        level = 0.0
        for at, part in enumerate(outcome.contributions):
            axes.bar(at, part.delta, bottom=level, color=GREEN if part.delta >= 0 else RED, width=0.6)
            level += part.delta
            axes.text(at, max(level, level - part.delta) + 0.015, f"{part.delta:+.3f}", ha="center")
        axes.bar(len(outcome.contributions), outcome.reward, color=BLUE, width=0.6)
        axes.text(len(outcome.contributions), outcome.reward + 0.015, f"{outcome.reward:.3f}", ha="center")
        named = [f"weighted\n{key}" for key in ("a", "b", "c (pitfall)")] + [
            part.step for part in outcome.contributions[3:]
        ]
        axes.set_xticks(range(len(named) + 1), [*named, "reward"])
        axes.set(
            ylim=(0, 0.9), title="One answer: contributions in order, adding up to its reward", ylabel="reward so far"
        )


def main() -> None:
    mpl.use("svg")
    with mpl.rc_context(STYLE):
        for draw in (saturation, interaction, shape, vetoes, adaptive, contributions):
            draw()
    print(f"{len(list(FIGURES.glob('*.svg')))} figures in docs/figures")


if __name__ == "__main__":
    main()
