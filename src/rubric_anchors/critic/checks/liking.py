"""The check that was learnt from what somebody likes."""

import hashlib
from collections.abc import Sequence
from functools import cached_property

from rubric_anchors.core.disk import read_bytes
from rubric_anchors.core.errors import CriticError, InputError, RubricError
from rubric_anchors.core.yamlfile import read_config
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding, Tools
from rubric_anchors.critic.checks.options import finding
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.fitted import FittedCritic
from rubric_anchors.rubric.criterion import READS_FILE
from rubric_anchors.rubric.outcome import Evidence

SHOWN = 5


@check(READS_FILE)
class Fitted(Check):
    """How likely it is that the answer is liked, by a critic that `anchors critic fit` made from texts that somebody
    likes and texts that they do not. The evidence is what moved it, and the most similar of those texts. 0 for
    an answer without words. Rubrics that data rows carry can never name a file."""

    file: str
    """The critic's file, relative to the folder that the command runs in."""
    sha256: str | None = None
    """Of the file: where it is given, a file that has changed is refused."""

    @cached_property
    def critic(self) -> FittedCritic:
        try:
            return read_config(self.file, FittedCritic, RubricError)
        except InputError as error:
            raise RubricError(f"fitted: {error}") from error

    def ready(self) -> None:
        """Reads the file. Raises RubricError where it is no fitted critic, or another than `sha256` says."""
        _ = self.critic
        found = hashlib.sha256(read_bytes(self.file, RubricError)).hexdigest()
        if self.sha256 not in (None, found):
            raise RubricError(f"{self.file} has the SHA-256 {found}, and the rubric wants {self.sha256}")

    @property
    def light(self) -> bool:
        return self.critic.space == "style"

    def decide(self, answer: Answer) -> Finding:
        """For a critic of style alone. Raises CriticError for one that needs an encoder."""
        if self.critic.space != "style":
            raise CriticError("this critic looks at meaning too, and needs an encoder")
        return self._findings([answer], None)[0]

    def decide_all(self, answers: Sequence[Answer], tools: Tools) -> list[Finding]:
        return self._findings(answers, None if self.critic.space == "style" else tools)

    def _findings(self, answers: Sequence[Answer], tools: Tools | None) -> list[Finding]:
        encoder = tools.encoder() if tools else None
        likings = self.critic.judge([answer.text for answer in answers], encoder)
        found = []
        for answer, liking in zip(answers, likings, strict=True):
            if not answer.view.words:  # nothing was written in any manner: what the weights say of it is chance
                found.append(finding(0.0, "no words"))
                continue
            made = finding(liking.value, f"liked with probability {liking.value:.2f}")
            notes = [
                f"{'for' if moved > 0 else 'against'}: {name} ({moved:+.2f})" for name, moved in liking.reasons[:SHOWN]
            ]
            if liking.nearest:
                side = "liked" if liking.nearest.liked else "disliked"
                notes.append(f"most like a {side} text: {liking.nearest.excerpt[:80]}")
            found.append(Finding(made.value, (*made.evidence, *map(Evidence, notes))))
        return found
