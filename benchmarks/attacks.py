"""What attacks on a judge come through which defences, and what innocent answers are accused of.

    PYTHONPATH=. python benchmarks/attacks.py

The attacks are our own: sixty that the flags were made with, thirty that were written afterwards. The judges are
scripted and obey strangers, either outside their fences or anywhere, so a number says what a defence stops by itself,
not how often a real model gives in. Takes seconds; writes benchmarks/results/attacks.json, which docs/judge.md shows.
"""

import json
from pathlib import Path
from typing import Any, Final

from tests.support.attacks import DEFENCES, RUBRIC, Gullible, attacks, innocent, one_answer, wins

from rubric_anchors.critic.hostile import flags

RESULT: Final = Path(__file__).resolve().parent / "results" / "attacks.json"
SETS: Final = {
    "none": (),
    **{f"{name} alone": (name,) for name in DEFENCES},
    **{f"all but {name}": tuple(other for other in DEFENCES if other != name) for name in DEFENCES},
    "all": DEFENCES,
}
"""Which defences are up."""


def measure() -> dict[str, Any]:
    """Attacks that win by judge, defences and kind; attacks flagged; innocent answers flagged."""
    result: dict[str, Any] = {}
    for when, later in (("known", False), ("later", True)):
        texts, harmless = list(attacks(later)), innocent(later)
        kinds = list(dict.fromkeys(kind for kind, _ in texts))
        won = {
            judge: {
                name: {
                    kind: sum(wins(text, Gullible(judge == "anywhere"), up) for one, text in texts if one == kind)
                    for kind in kinds
                }
                for name, up in SETS.items()
            }
            for judge in ("outside", "anywhere")
        }
        flagged = {text: sorted(flags(one_answer(text), RUBRIC.criteria)) for text in harmless}
        result[when] = {
            "attacks": {kind: sum(one == kind for one, _ in texts) for kind in kinds},
            "won": won,
            "flagged": {
                kind: sum(bool(flags(one_answer(text), RUBRIC.criteria)) for one, text in texts if one == kind)
                for kind in kinds
            },
            "innocent": len(harmless),
            "accused": {text: found for text, found in flagged.items() if found},
        }
    return result


def main() -> None:
    result = measure()
    RESULT.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for when, found in result.items():
        count = sum(found["attacks"].values())
        print(f"{when}: {count} attacks, {sum(found['flagged'].values())} flagged")
        for judge, sets in found["won"].items():
            for name, by_kind in sets.items():
                print(f"  obeys {judge:9} {name:16} {sum(by_kind.values()):3}  {by_kind}")
        print(f"  {len(found['accused'])} of {found['innocent']} innocent answers accused: {found['accused']}")


if __name__ == "__main__":
    main()
