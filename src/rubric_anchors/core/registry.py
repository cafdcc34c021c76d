"""Named things that a package can add to: built-ins register by decorator, other packages by entry point.

An installed package's thing is loaded when it is first asked for by name, so that a broken one breaks only those who
use it, with one line.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from rubric_anchors.core.errors import AnchorsError, InputError, SetupError
from rubric_anchors.core.words import near

T = TypeVar("T")
Added = TypeVar("Added")


class Registry(Generic[T]):
    """The things of one kind, by name.

    kind: what one is called in messages, e.g. `check`. group: the entry-point group of other packages' things, e.g.
    `rubric_anchors.checks`. accepts: whether a loaded thing is one at all. error: raised for a name nobody registered.
    """

    def __init__(
        self,
        kind: str,
        group: str,
        *,
        accepts: Callable[[object], bool] = lambda _: True,
        error: type[AnchorsError] = InputError,
    ) -> None:
        self.kind = kind
        self.group = group
        self._accepts = accepts
        self._error = error
        self._things: dict[str, T] = {}
        self._loaded: dict[str, T] = {}

    def register(self, name: str) -> Callable[[Added], Added]:
        """A decorator that adds what it stands on under `name`. Raises ValueError where the name is taken."""

        def add(thing: Added) -> Added:
            self.add(name, thing)  # type: ignore[arg-type]  # the registry's T, kept as the narrower type for the module
            return thing

        return add

    def add(self, name: str, thing: T) -> None:
        """Adds `thing` under `name`. Raises ValueError where the name is taken."""
        if name in self._things:
            raise ValueError(f"the {self.kind} {name!r} is registered already, as {self._things[name]!r}; rename one")
        self._things[name] = thing

    def get(self, name: str) -> T:
        """The thing called `name`.

        Raises InputError (or the registry's own error) for an unknown name, with the near ones; SetupError where an
        installed package's thing cannot be loaded, or two packages give the same name.
        """
        plugins = self._plugins.get(name, ())
        if plugins and (name in self._things or len(plugins) > 1):
            owners = ["rubric_anchors"] * (name in self._things) + [_owner(plugin) for plugin in plugins]
            raise SetupError(f"the {self.kind} {name!r} is registered by {' and by '.join(owners)}; uninstall one")
        if name in self._things:
            return self._things[name]
        if plugins:
            return self._load(name, plugins[0])
        raise self._error(f"no {self.kind} {name!r}{near(name, self)}; there are: {', '.join(self) or 'none'}")

    def __contains__(self, name: object) -> bool:
        return name in self._things or name in self._plugins

    def __iter__(self) -> Iterator[str]:
        """The names, sorted; nothing is loaded."""
        return iter(sorted({*self._things, *self._plugins}))

    @cached_property
    def _plugins(self) -> dict[str, tuple[EntryPoint, ...]]:
        found: dict[str, tuple[EntryPoint, ...]] = {}
        for plugin in entry_points(group=self.group):
            # The same line twice (a package on the path twice) is no conflict.
            if plugin.value not in [other.value for other in found.get(plugin.name, ())]:
                found[plugin.name] = (*found.get(plugin.name, ()), plugin)
        return found

    def _load(self, name: str, plugin: EntryPoint) -> T:
        if name not in self._loaded:
            try:
                thing = plugin.load()
            except (Exception, SystemExit) as error:
                cause = " ".join(f"{type(error).__name__}: {error}".split())
                what = f"the {self.kind} {name!r} of {_owner(plugin)} cannot be loaded ({cause})"
                raise SetupError(f"{what}; reinstall or uninstall that package") from error
            if not self._accepts(thing):
                raise SetupError(f"the {self.kind} {name!r} of {_owner(plugin)} is {thing!r}, which is no {self.kind}")
            self._loaded[name] = thing
        return self._loaded[name]


def _owner(plugin: EntryPoint) -> str:
    return f"package {plugin.dist.name!r}" if plugin.dist else f"{plugin.value!r}"
