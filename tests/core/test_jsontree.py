import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue
from tests.core.test_yamlfile import Recipe

from rubric_anchors.core.errors import RecipeError
from rubric_anchors.core.jsontree import read_json
from rubric_anchors.core.nodes import DocumentProblem, plain
from rubric_anchors.core.yamlfile import parse_config
from rubric_anchors.core.yamltree import read_yaml


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"name": "a",}', "1:14: not valid JSON: expected a key in double quotes; seen '}'"),
        ('{"name": "a"\n "stages": []}', "2:2: not valid JSON: expected ',' or '}'; seen '\"'"),
        ('{"name" "a"}', "1:9: not valid JSON: expected ':' after the key"),
        ('{"name": NaN}', "1:10: name: not valid JSON: NaN is no JSON value"),
        ("{'name': 'a'}", "1:2: not valid JSON: expected a key in double quotes"),
        ('{"name": "a"} x', "1:15: not valid JSON: expected the end of the file"),
        (
            '{"stages": [{"name": "b",\n "name": "c"}]}',
            "2:2: stage 'b': the key 'name' stands twice in one mapping (first on line 1)",
        ),
        ('{"name": "a', "1:10: name: not valid JSON: a text in double quotes is never closed"),
        ('{"name": "a\nb"}', "never closed, or holds a line break"),
        ('{"name": "\\q"}', "a text holds an escape that is none"),
        ('{"name": "\\ud800"}', "half of a surrogate pair"),
        ('{"name": 01}', "1:10: name: not valid JSON: 01 is no JSON value"),
        ('{"name": 1e999}', "the number is beyond the largest"),
        ('{"name": 11111111111111111111}', "the number is too long"),
        ('{"stages": [1 2]}', "expected ',' or ']'"),
        ('{"stages": [1,]}', "1:15: stages[1]: not valid JSON: expected a value; seen ']'"),
        ('{"stages": ', "the file ends here"),
        ("[" * 100_000, "nested more than 32 deep"),
    ],
)
def test_what_is_not_json_is_refused_at_its_place(text: str, words: str) -> None:
    with pytest.raises(RecipeError) as caught:
        parse_config(text, Recipe, RecipeError, source="r.json", is_json=True)
    assert words in str(caught.value)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.sampled_from([None, 0, 2]), st.booleans())
def test_any_json_is_read_as_the_standard_reader_reads_it(value: JsonValue, indent: int | None, escaped: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=escaped)
    root = read_json(text)
    assert root is not None
    assert plain(root) == json.loads(text)


@given(st.text(alphabet="ab:-[]{}&*!|>'\"#%@`,?\n\t 0_.~<=", max_size=30))
def test_any_text_is_a_tree_or_one_problem(text: str) -> None:
    for reader in (read_yaml, read_json):
        try:
            root = reader(text)
            found = repr(plain(root)) if root else ""
        except DocumentProblem as problem:
            found = str(problem)
        assert "\n" not in found
