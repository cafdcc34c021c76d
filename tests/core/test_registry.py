from collections.abc import Callable
from importlib.metadata import EntryPoint

import pytest

from rubric_anchors.core import registry as module
from rubric_anchors.core.errors import RubricError, SetupError
from rubric_anchors.core.registry import Registry

Thing = Callable[[], str]


def plugins(monkeypatch: pytest.MonkeyPatch, **values: str | list[str]) -> None:
    found = [
        EntryPoint(name, one, "rubric_anchors.things")
        for name, value in values.items()
        for one in ([value] if isinstance(value, str) else value)
    ]
    monkeypatch.setattr(module, "entry_points", lambda group: [one for one in found if one.group == group])


@pytest.fixture
def things(monkeypatch: pytest.MonkeyPatch) -> Registry[Thing]:
    plugins(monkeypatch)
    things: Registry[Thing] = Registry("thing", "rubric_anchors.things", accepts=callable, error=RubricError)

    @things.register("word_count")
    def word_count() -> str:
        return "words"

    things.add("contains", lambda: "contains")
    return things


def test_a_built_in_is_found_by_name(things: Registry[Thing]) -> None:
    assert things.get("word_count")() == "words"
    assert list(things) == ["contains", "word_count"]
    assert "contains" in things
    assert "other" not in things


def test_an_unknown_name_lists_near_names_and_all_names(things: Registry[Thing]) -> None:
    with pytest.raises(RubricError, match=r"no thing 'wordcount'; did you mean 'word_count'.*contains, word_count"):
        things.get("wordcount")
    with pytest.raises(RubricError, match=r"no thing 'zzz'; there are: contains, word_count"):
        things.get("zzz")


def test_a_name_is_registered_once(things: Registry[Thing]) -> None:
    with pytest.raises(ValueError, match="'contains' is registered already"):
        things.add("contains", lambda: "again")


def test_a_package_adds_a_thing_that_is_loaded_when_asked_for(
    things: Registry[Thing], monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins(monkeypatch, cwd="os:getcwd", broken="no_such_package:x")
    assert list(things) == ["broken", "contains", "cwd", "word_count"]
    assert things.get("cwd")()
    assert things.get("contains")() == "contains"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("no_such_package:x", "cannot be loaded .ModuleNotFoundError: No module named 'no_such_package'.; reinstall"),
        ("os:nothing", "cannot be loaded .AttributeError"),
        ("os:sep", "is '/', which is no thing"),
    ],
)
def test_a_broken_package_is_one_line_and_breaks_nothing_else(
    things: Registry[Thing], monkeypatch: pytest.MonkeyPatch, value: str, words: str
) -> None:
    plugins(monkeypatch, broken=value)
    with pytest.raises(SetupError, match=words) as caught:
        things.get("broken")
    assert "\n" not in str(caught.value)
    assert things.get("contains")() == "contains"


def test_two_owners_of_one_name_are_an_error_for_that_name_alone(
    things: Registry[Thing], monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins(monkeypatch, contains="os:getcwd", two=["os:getcwd", "os:getpid"], same=["os:getpid", "os:getpid"])
    with pytest.raises(SetupError, match="'contains' is registered by rubric_anchors and by 'os:getcwd'"):
        things.get("contains")
    with pytest.raises(SetupError, match="by 'os:getcwd' and by 'os:getpid'"):
        things.get("two")
    assert things.get("same")()
    assert things.get("word_count")() == "words"
