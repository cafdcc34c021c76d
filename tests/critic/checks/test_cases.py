"""What each check gives, case by case."""

import pytest
from tests.critic.checks.cases_counts import COUNTS
from tests.critic.checks.cases_figures import FIGURES
from tests.critic.checks.cases_formats import FORMATS
from tests.critic.checks.cases_lexical import LEXICAL
from tests.critic.checks.cases_likeness import LIKENESS
from tests.critic.checks.cases_markup import MARKUP
from tests.critic.checks.cases_placing import PLACING
from tests.critic.checks.cases_style import STYLE
from tests.critic.checks.cases_verified import VERIFIED
from tests.critic.checks.cases_wording import WORDING
from tests.critic.checks.table import Case, Table, decide

import rubric_anchors.critic.build  # noqa: F401  # importing it registers every check
from rubric_anchors.core.errors import RubricError
from rubric_anchors.critic.checks.registry import check_registry, make_check

TABLE: Table = {
    **COUNTS,
    **FIGURES,
    **FORMATS,
    **LEXICAL,
    **LIKENESS,
    **MARKUP,
    **PLACING,
    **STYLE,
    **VERIFIED,
    **WORDING,
}
CASES = [pytest.param(name, case, id=f"{name}-{at}") for name, cases in TABLE.items() for at, case in enumerate(cases)]
NEED_MORE = {"relevance", "fluency", "similar_to_reference", "python", "fitted"}
"""A model, a reference, somebody's function or file: tested by themselves."""


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_check_gives_what_its_table_says(name: str, case: Case) -> None:
    options, text, value = case
    finding = decide(name, options, text)
    assert finding.value == pytest.approx(value, abs=1e-9), [item.note for item in finding.evidence]


def test_every_check_has_at_least_six_cases() -> None:
    thin = [name for name in check_registry if name not in NEED_MORE and len(TABLE.get(name, ())) < 6]
    assert thin == []


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_finding_says_what_was_seen_and_points_into_the_text(name: str, case: Case) -> None:
    options, text, _ = case
    evidence = decide(name, options, text).evidence
    assert evidence[0].note
    for item in evidence:
        if item.start is not None and item.end is not None:
            assert 0 <= item.start < item.end <= len(text)


@pytest.mark.parametrize("delimiter", ["\n", "\r", '"', "\0"])
def test_what_cannot_stand_between_columns_is_refused(delimiter: str) -> None:
    with pytest.raises(RubricError, match="cannot stand between columns"):
        make_check("is_csv", {"delimiter": delimiter})
