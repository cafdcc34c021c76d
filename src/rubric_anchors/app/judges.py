"""A judge as the command line names it."""

from collections.abc import Sequence

from pydantic import JsonValue, ValidationError

from rubric_anchors.app.checks import key_values
from rubric_anchors.core.errors import InputError
from rubric_anchors.core.words import near
from rubric_anchors.models.endpoint_config import parse_endpoint
from rubric_anchors.reward.judging import JudgeConfig


def judge_of(named: str, options: Sequence[str] = (), max_cost: float | None = None) -> JudgeConfig:
    """`URL#MODEL` and `KEY=VALUE` for further fields of `JudgeConfig`. Raises InputError."""
    url, model = parse_endpoint(named)
    fields: dict[str, JsonValue] = {"url": url, "model": model}
    there = [name for name in JudgeConfig.model_fields if name not in ("url", "model", "max_cost")]
    for key, value in key_values(options, "--judge-with").items():
        if key not in there:
            raise InputError(f"--judge-with knows no {key!r}{near(key, there)}; there are: {', '.join(there)}")
        fields[key] = value
    if max_cost is not None:
        fields["max_cost"] = max_cost
    try:
        config = JudgeConfig.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        message = str(first["ctx"]["error"]) if first["type"] == "value_error" else first["msg"]
        raise InputError(f"--judge, {place or 'config'}: {message}") from error
    if max_cost is not None and not (config.price_in or config.price_out):
        raise InputError(
            "--max-cost needs prices, or nothing costs anything: --judge-with price_in=... --judge-with price_out=..."
            " (of a million tokens)"
        )
    return config
