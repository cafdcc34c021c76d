"""A rubric as a YAML file that a person would have written: defaults left out, shorthand used."""

import re
from typing import Final

import yaml
from pydantic import JsonValue

from rubric_anchors.core.nodes import DocumentProblem
from rubric_anchors.core.yamltree import resolve
from rubric_anchors.rubric.model import NO_AND_YES, Criterion, CriticSpec, Rubric, Tier, Veto

_WIDTH: Final = 110
# Control characters and the line breaks that only some YAML versions know; left bare they would come back as others.
_ESCAPED: Final = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]")


def dump_rubric(rubric: Rubric) -> str:
    """YAML that `parse_rubric` reads back as an equal rubric."""
    plain = rubric.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    fields: dict[str, JsonValue] = {"schema": rubric.schema_version, "id": rubric.id}
    fields |= {name: plain[name] for name in ("title", "scope", "tags", "language") if name in plain}
    for name in ("tags", "provenance"):
        if name in plain:
            fields[name] = _flow(plain[name])
    fields["criteria"] = [_criterion(criterion) for criterion in rubric.criteria]
    if "relations" in plain:
        fields["relations"] = [_flow(relation) for relation in plain["relations"]]
    if "reward" in plain:
        # A shape with all its defaults would be written as {}, which says nothing to a reader.
        shape = {"shape": {"kind": "stretch", **plain["reward"]["shape"]}} if rubric.reward.shape else {}
        fields["reward"] = _flow({**plain["reward"], **shape})
    return yaml.dump(fields, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)


def _criterion(criterion: Criterion) -> dict[str, JsonValue]:
    fields: dict[str, JsonValue] = {"key": criterion.key, "ask": criterion.ask}
    if criterion.weight != 1:
        fields["weight"] = _number(criterion.weight)
    fields["critic"] = _critic(criterion.critic)
    if criterion.critic.kind != "check" or not _no_and_yes(criterion.tiers):
        fields["tiers"] = _tiers(criterion.tiers)
    if criterion.veto:
        fields["veto"] = _veto(criterion.veto)
    return fields


def _critic(critic: CriticSpec) -> JsonValue:
    if critic.kind == "exemplar" and not critic.options:
        return "exemplar"
    if not critic.name and not critic.options:
        return critic.kind
    head: dict[str, JsonValue] = {critic.kind: critic.name}
    if not critic.name or critic.kind in ("kind", "with"):
        head = {"kind": critic.kind, **({"name": critic.name} if critic.name else {})}
    return _flow({**head, **({"with": critic.options} if critic.options else {})})


def _no_and_yes(tiers: tuple[Tier, ...]) -> bool:
    return tiers == tuple(Tier(means=means, value=float(at)) for at, means in enumerate(NO_AND_YES))


def _tiers(tiers: tuple[Tier, ...]) -> list[JsonValue]:
    even = all(tier.value == index / (len(tiers) - 1) for index, tier in enumerate(tiers))
    return [
        {
            "means": tier.means,
            **({} if even else {"value": _number(tier.value)}),
            **({"anchors": list(tier.anchors)} if tier.anchors else {}),
        }
        for tier in tiers
    ]


def _veto(veto: Veto) -> JsonValue:
    fields = veto.model_dump(mode="json", exclude_none=True)
    if veto.reward == 0.0:
        del fields["reward"]
    return _flow({name: _number(value) if isinstance(value, float) else value for name, value in fields.items()})


def _number(value: float) -> JsonValue:
    return int(value) if value.is_integer() else value


class _Flow(dict[str, JsonValue]):
    """A mapping written on one line, in braces."""


class _FlowList(list[JsonValue]):
    """A list written on one line, in brackets."""


def _flow(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return _Flow({key: _flow(item) for key, item in value.items()})
    if isinstance(value, list):
        return _FlowList(_flow(item) for item in value)
    return value


class _Dumper(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    """Quoted wherever our own reader, or another YAML version, would take the bare word for something else."""
    try:
        plain = resolve(value) == value and value != "<<"
    except DocumentProblem:
        plain = False
    style = '"' if _ESCAPED.search(value) or not plain else "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _float(dumper: yaml.SafeDumper, value: float) -> yaml.ScalarNode:
    # 1e-09 is text to YAML 1.1, which wants the dot.
    text = repr(value)
    return dumper.represent_scalar("tag:yaml.org,2002:float", text if "." in text else text.replace("e", ".0e"))


_Dumper.add_representer(str, _text)
_Dumper.add_representer(float, _float)
_Dumper.add_representer(
    _Flow, lambda dumper, value: dumper.represent_mapping("tag:yaml.org,2002:map", value.items(), flow_style=True)
)
_Dumper.add_representer(
    _FlowList, lambda dumper, value: dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=True)
)
