"""The models that critics lean on when nobody names others: the embedded encoder, the embedded policy, no judge."""

from functools import cache

from rubric_anchors.core.errors import SetupError
from rubric_anchors.critic.base import Encoder, Likelihood, Tools


def default_tools() -> Tools:
    """Embedded models, loaded when a critic first needs one and shared by the whole process. Can be pickled."""
    return Tools(encoder=_encoder, likelihood=_likelihood)


@cache
def _encoder() -> Encoder:
    from rubric_anchors.models.encoder import SentenceEncoder

    encoder = SentenceEncoder()
    # Files of answers are scored again and again, with one criterion changed.
    encoder.keep_in_cache()
    return encoder


@cache
def _likelihood() -> Likelihood:
    try:
        from rubric_anchors.models.likelihood import CausalLikelihood
        from rubric_anchors.models.policy import fastest_dtype
    except ModuleNotFoundError as error:
        raise SetupError(
            "this rubric needs the likelihood of a language model, and PyTorch and transformers are not installed; "
            "`pip install 'rubric-anchors[local]'`"
        ) from error
    return CausalLikelihood.load(dtype=fastest_dtype())
