"""What a measure is: an instrument that no reward uses, so that a policy trained on the reward was never paid to
please it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer to one held-out prompt."""

    prompt_id: str
    family: str
    prompt: str
    response: str


class Measure(Protocol):
    """Scores answers. `family` groups measures in the report: tone, relevance, diversity, language or style."""

    @property
    def name(self) -> str: ...

    @property
    def family(self) -> str: ...

    @property
    def higher_is_better(self) -> bool: ...

    @property
    def margin(self) -> float | None:
        """How much worse the mean may get, as a positive number; None: informative only, no bar."""
        ...

    def __call__(self, samples: Sequence[Sample]) -> NDArray[np.float64]:
        """One finite number for each sample, shape [len(samples)]. Never raises on any text."""
        ...
