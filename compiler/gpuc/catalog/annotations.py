"""Annotations of load balancers, Ingress controllers, external-dns and cert-manager, and which ones tenants may use."""

from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from gpuc.parts.folders import table_beside

FREE, GRANTED = "free", "granted"
_ABOUT = ("controller", "source", "substrate", "kinds")


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
def annotations(substrate: str = "") -> tuple[Annotation, ...]:
    """Returns the annotations of the controllers that clusters of a substrate can have, by default of all controllers.

    Args:
        substrate: the folder of the substrate.
    """
    return tuple(_annotations(substrate))


def _annotations(substrate: str) -> Iterator[Annotation]:
    for prefixes, row in table_beside(__file__).items():
        is_possible = substrate in ("", row.get("substrate", substrate))
        for prefix in prefixes.split() if is_possible else ():
            for use, names in row.items():
                for name in () if use in _ABOUT else names.split():
                    yield Annotation(prefix, prefix + name, use, row["controller"], row["source"])


def annotation(key: str, substrate: str = "") -> Annotation | None:
    """Returns the entry about an annotation, by its name or a pattern; None if no pinned controller reads it."""
    return next((entry for entry in annotations(substrate) if entry.includes(key)), None)


def controller_of(key: str, substrate: str = "") -> Annotation | None:
    """Returns an entry of the controller to whose domain an annotation belongs; None if there is none."""
    return next((entry for entry in annotations(substrate) if key.startswith(entry.prefix)), None)


def traffic_kinds() -> list[str]:
    """Returns the kinds, as group/Kind, with which a tenant would receive or forward traffic that no policy checks."""
    return [kind for row in table_beside(__file__).values() for kind in row.get("kinds", "").split()]
