"""The annotations of load balancers, Ingress controllers, external-dns and cert-manager, and who may use them."""

from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from gpuc.parts.folders import table_beside

FREE, GRANTED = "free", "granted"
_ABOUT = ("controller", "source", "substrate", "kinds")


class Annotation(Struct, frozen=True):
    """An annotation that a controller reads, or all annotations of the controller that start with the same text."""

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
        """Returns whether this is the entry for an annotation key, or for a pattern such as "example.com/*"."""
        return key == self.key or (self.key.endswith("*") and key.startswith(self.key[:-1]))


@cache
def annotations(substrate: str = "") -> tuple[Annotation, ...]:
    """Returns the annotations of all controllers, or only of the controllers that clusters of a substrate can have.

    Args:
        substrate: the folder of the substrate; empty for all controllers.
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
    """Returns the entry for an annotation key or a pattern; None if no known controller reads the annotation."""
    return next((entry for entry in annotations(substrate) if entry.includes(key)), None)


def controller_of(key: str, substrate: str = "") -> Annotation | None:
    """Returns an entry of the controller that reads annotations with the prefix of this key; None if there is none."""
    return next((entry for entry in annotations(substrate) if key.startswith(entry.prefix)), None)


def traffic_kinds() -> list[str]:
    """Returns kinds of objects (group/Kind) with which a tenant could receive traffic that no policy checks."""
    return [kind for row in table_beside(__file__).values() for kind in row.get("kinds", "").split()]
