"""Annotations of load balancers, Ingress controllers, external-dns and cert-manager, and what a tenant may use."""

from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from gpuc.parts.folders import table_beside

FREE, GRANTED = "free", "granted"
_ABOUT = ("controller", "source")


class Annotation(Struct, frozen=True):
    """An annotation, or all annotations that start with a text, of one version of a controller."""

    prefix: str
    """The domain of the controller, with what all its annotations have in common."""
    key: str
    """The whole key. It ends with "*" for all keys that start with the text before it."""
    use: str
    """free, granted (`exposed.annotations` must list it), or the list of `exposed` that must contain the values."""
    controller: str
    """The name and the version of the controller."""
    source: str

    def includes(self, key: str) -> bool:
        """Returns whether the entry is about the key of an annotation, or about a pattern that a spec grants."""
        return key == self.key or (self.key.endswith("*") and key.startswith(self.key[:-1]))


@cache
def annotations() -> tuple[Annotation, ...]:
    """Returns the annotations of all controllers, in the order of the table."""
    return tuple(_annotations())


def _annotations() -> Iterator[Annotation]:
    for prefixes, row in table_beside(__file__).items():
        for prefix in prefixes.split():
            for use, names in row.items():
                for name in () if use in _ABOUT else names.split():
                    yield Annotation(prefix, prefix + name, use, row["controller"], row["source"])


def annotation(key: str) -> Annotation | None:
    """Returns the entry about the key of an annotation, or about a pattern; None if no version knows it."""
    return next((entry for entry in annotations() if entry.includes(key)), None)


def controller_of(key: str) -> Annotation | None:
    """Returns an entry of the controller that would read an annotation; None if no controller would."""
    return next((entry for entry in annotations() if key.startswith(entry.prefix)), None)
