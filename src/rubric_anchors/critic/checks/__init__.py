"""The checks that ship with the package. Importing this registers them; `docs/checks.md` lists them with their
options."""

from rubric_anchors.critic.checks import (
    characters,
    counts,
    figures,
    formats,
    languages,
    lexical,
    likeness,
    liking,
    markup,
    own,
    placing,
    programs,
    prose,
    reading,
    repeating,
    schemas,
    tone,
    verified,
)

__all__ = [
    "characters",
    "counts",
    "figures",
    "formats",
    "languages",
    "lexical",
    "likeness",
    "liking",
    "markup",
    "own",
    "placing",
    "programs",
    "prose",
    "reading",
    "repeating",
    "schemas",
    "tone",
    "verified",
]
