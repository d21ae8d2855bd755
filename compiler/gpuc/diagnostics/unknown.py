"""The value UNKNOWN, which gpuc uses in place of a value of the spec that has an error.

If a value of the spec is wrong or missing, gpuc treats it as unknown. Everything that gpuc computes from an unknown
value is unknown too. A check that reads an unknown value gets an UnknownValueError and ends. The findings that the
check yielded before do not depend on the unknown value, so they stay correct when the user corrects the value.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

Item = TypeVar("Item")
Arguments = ParamSpec("Arguments")


class UnknownValueError(Exception):
    """A check has read a value that is unknown because of an error in the spec."""


class _Unknown:
    """A value that cannot be read."""

    def _raise(self, *_: object) -> Any:
        raise UnknownValueError

    def __iter__(self) -> Iterator[Any]:
        raise UnknownValueError

    def __bool__(self) -> bool:
        raise UnknownValueError

    __getattr__ = __getitem__ = __contains__ = __len__ = _raise
    __eq__ = __hash__ = __lt__ = __add__ = __radd__ = __or__ = __ror__ = __str__ = __format__ = _raise


class _PartlyKnown(_Unknown):
    """A sequence whose unknown elements are None. The elements before the first unknown element can be read."""

    def __init__(self, items: tuple[object, ...]) -> None:
        self._items = items

    def __iter__(self) -> Iterator[Any]:
        for item in self._items:
            if item is None:
                raise UnknownValueError
            yield item

    def __bool__(self) -> bool:
        return True


UNKNOWN: Any = _Unknown()
"""The unknown value."""


def known(build: Callable[[], Item]) -> Item:
    """Returns the result of a function; UNKNOWN if the function reads an unknown value."""
    try:
        return build()
    except UnknownValueError:
        return cast(Item, UNKNOWN)


def none_if_unknown(build: Callable[Arguments, Item | None]) -> Callable[Arguments, Item | None]:
    """Decorates a function so that it returns None if it reads an unknown value."""

    @wraps(build)
    def element(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Item | None:
        try:
            return build(*args, **kwargs)
        except UnknownValueError:
            return None

    return element


def until_unknown(items: Iterable[Item]) -> Iterator[Item]:
    """Yields the items of an iterable. Ends without an error when the iterable raises UnknownValueError."""
    try:
        yield from items
    except UnknownValueError:
        return


def elements(items: Iterable[Item | None]) -> tuple[Item, ...]:
    """Returns the items as a tuple. For an item that is None, a loop over this tuple raises UnknownValueError."""
    found = tuple(items)
    if any(item is None for item in found):
        return cast("tuple[Item, ...]", _PartlyKnown(found))
    return cast("tuple[Item, ...]", found)
