"""What libraries say about each other, and a user can do nothing about, is not passed on."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """Silences three things inside the block; a decorator too.

    TRL logs the text of each answer that gets no reward: here that is a value on record, not a fault. TRL and PEFT read
    a property that transformers 5.24 renamed, which warns. PEFT warns of a pattern that it wrote itself, for the
    experts of a mixture whose experts get no adapters.
    """

    def is_wanted(record: logging.LogRecord) -> bool:
        return "All reward functions returned None" not in record.getMessage()

    logger = logging.getLogger("trl.trainer.grpo_trainer")
    logger.addFilter(is_wanted)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"`\w*gradient_checkpointing\w*` is deprecated", FutureWarning)
            warnings.filterwarnings(
                "ignore", r"The following \w+_pattern keys did not match any targeted", RuntimeWarning
            )
            yield
    finally:
        logger.removeFilter(is_wanted)
