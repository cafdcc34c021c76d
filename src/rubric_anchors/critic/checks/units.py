"""Quantities with a unit: how many, and of which system."""

import re
from typing import Final, Literal

from rubric_anchors.critic.checks.options import Found, Place
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.text import TextView

System = Literal["metric", "imperial"]

_METRIC: Final = (
    r"[nµμmcdk]?m[²³23]?|ha|[µμmk]?g|[mcdh]?[lL]|km/h|m/s[²2]?|kph"
    r"|[mkMG]?Wh?|[kMG]?J|[mk]?V|m?A|[kMG]?Hz|[hkM]?Pa|m?bar|°\s?C|K"
    r"|(?:nano|micro|milli|centi|deci|kilo)?met(?:er|re)s?|(?:milli|kilo)?grams?|(?:milli|centi|deci|hecto)?lit(?:er|re)s?"
    r"|hectares?|tonnes?|kilos?|degrees? celsius|celsius|joules?|(?:kilo|mega)?watts?(?:[- ]hours?)?|volts?|kelvin"
)
_IMPERIAL: Final = (
    r"ft|yds?|mi|mph|lbs?|oz|fl\.? ?oz|gal|qt|pt|tbsp|tsp|psi|°\s?F"
    r"|inch(?:es)?|foot|feet|yards?|miles?|acres?|ounces?|pounds?|stones?|pints?|quarts?|gallons?|fluid ounces?"
    r"|cups?|tablespoons?|teaspoons?|degrees? fahrenheit|fahrenheit"
    r"|(?:square|cubic) (?:inch(?:es)?|foot|feet|yards?|miles?)|in(?=[.,;)])|(?<=\d)in|(?<=-)in"
)
_NUMBER: Final = (
    r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})++(?:\.\d{1,9})?+|\d{1,12}(?:[.,]\d{1,9})?+|[½¼¾⅓⅔])(?:\s?[½¼¾⅓⅔]|\s\d/\d)?"
)
_QUANTITY: Final = {
    "metric": re.compile(rf"{_NUMBER}(?:\s|-)?(?P<unit>(?:{_METRIC}))(?![\w²³°/])"),
    "imperial": re.compile(rf"{_NUMBER}(?:\s|-)?(?P<unit>(?:{_IMPERIAL}))(?![\w²³°/])"),
}


@check("units")
class Units(Found):
    """1 where the number of quantities with a unit (`5 km`, `3.5 kg`, `20 °C`, `2 cups`) lies in min..max. Metric are
    SI and what is used beside it (litre, hectare, bar, degrees Celsius); imperial are British and American customary
    units. `{system: imperial, max: 0}`: none but metric ones. A unit stands in figures' company: `five miles` is not
    counted, nor are percentages, money and times. `5 in` is inches only before a mark or without the blank."""

    unit = "quantities"

    system: Literal["any", "metric", "imperial"] = "any"
    """Which units count."""

    def find(self, view: TextView) -> list[Place]:
        found: dict[int, Place] = {}
        for system, pattern in _QUANTITY.items():
            if self.system in ("any", system):
                for hit in pattern.finditer(view.norm):
                    found.setdefault(hit.start(), (f"{system}: {hit[0]}", *hit.span()))
        return [found[at] for at in sorted(found)]
