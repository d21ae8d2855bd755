"""Fields of the spec language that have a new path. One release reads both paths; `gpuc fix` writes the new path."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from gpuc.diagnostics.finding import Finding, Mark, Path, Related, rule_table
from gpuc.documents.composer import Node

rule_of = rule_table(__file__)
MOVED = rule_of("SPC008")
BOTH = rule_of("SPC009")

ANY = "*"
"""A step of a place: any key of a map."""
_AWS, _POOL, _NETWORK = ("spec", "cloud", "aws"), ("spec", "pools", ANY), ("spec", "network")
_POOL_FIELDS = (
    "reservations", "purchase", "zones", "idleAfter", "expireAfter", "placement", "image", "userData", "rootVolume",
    "rootVolumeThroughput", "rootVolumeIops", "costCentre", "tags",
)  # fmt: skip
_NETWORK_FIELDS = {
    "networkPolicyEngine": "policyEngine", "podCidrs": "podCidrs", "serviceCidr": "serviceCidr",
    "endpointCidrs": "endpointCidrs", "apiServerCidrs": "apiServerCidrs", "nodeLocalDns": "nodeLocalDns",
}  # fmt: skip

MOVES: dict[tuple[str, ...], tuple[str, ...]] = {
    **{(*_AWS, old): (*_NETWORK, new) for old, new in _NETWORK_FIELDS.items()},
    **{(*_POOL, name): (*_POOL, "eks", name) for name in _POOL_FIELDS},
    ("spec", "cloud", "none"): ("spec", "cloud", "onPremises"),
}
"""The new place of each moved field by its old place. The step * is any key, the same key in both places."""


class Move(Struct, frozen=True):
    """A field in a file that is still at its old path."""

    old: Path
    new: Path
    pattern: tuple[str, ...]
    """The old place, as a key of MOVES."""
    mark: Mark
    """The position of the key."""
    taken_at: Mark | None
    """The position of the value that is at the new place already, or that is no map above the new place."""


def moves(document: Node) -> list[Move]:
    """Returns the fields of a file that are still at their old paths, in the order of the file."""
    found = [
        Move(path, place, pattern, _key_mark(document, path), _obstacle(document, place))
        for pattern, new in MOVES.items()
        for path in _paths(document, pattern)
        for place in [tuple(path[index] if step == ANY else step for index, step in enumerate(new))]
    ]
    return sorted(found, key=lambda move: (move.mark.line, move.mark.column))


def moved(document: Node) -> tuple[Node, list[Finding]]:
    """Returns the document with all fields at their new paths, and findings about the fields at old paths.

    Values and keys keep their positions in the file. If all fields of a map move, the map is removed.
    """
    found = moves(document)
    for move in found:
        value = value_at(document, move.old)
        if value is not None and move.taken_at is None:
            document = _without(_with(document, move.new, value, move.mark), move.old)
    return document, list(_findings(found))


def value_at(node: Node, path: Path) -> Node | None:
    """Returns the value at a path of keys; None if the path does not exist."""
    for step in map(str, path):
        below = node.value.get(step) if isinstance(node.value, dict) else None
        if below is None:
            return None
        node = below
    return node


def _paths(node: Node, pattern: tuple[str, ...]) -> Iterator[Path]:
    """Yields the paths of all values at a place. A step of the place may be any key."""
    if not pattern:
        yield ()
    elif isinstance(node.value, dict):
        for key in list(node.value) if pattern[0] == ANY else [key for key in pattern[:1] if key in node.value]:
            yield from ((key, *path) for path in _paths(node.value[key], pattern[1:]))


def _key_mark(document: Node, path: Path) -> Mark:
    parent = value_at(document, path[:-1])
    mark = parent.keys[str(path[-1])] if parent else document.mark
    assert isinstance(mark, Mark)
    return mark


def _obstacle(document: Node, new: Path) -> Mark | None:
    """Returns the position of a value at a place, or of the value above the place that is no map."""
    for length in range(1, len(new) + 1):
        node = value_at(document, new[:length])
        if node is None:
            return None
        if length == len(new) or not isinstance(node.value, dict):
            return _key_mark(document, new[:length])
    return None


def _without(node: Node, path: Path) -> Node:
    """Returns a map without the value at a path, and without the maps above the value that become empty."""
    step, rest = str(path[0]), path[1:]
    below = _without(node.value[step], rest) if rest else None
    values = {key: child for key, child in node.value.items() if key != step}
    if below is not None and below.value:
        values = {key: below if key == step else child for key, child in node.value.items()}
    return replace(node, value=values, keys={key: mark for key, mark in node.keys.items() if key in values})


def _with(node: Node, path: Path, value: Node, mark: Mark) -> Node:
    """Returns a map with a value at a path. Maps that do not exist have the position of the value's key."""
    step, rest = str(path[0]), path[1:]
    below = _with(node.value.get(step) or Node(mark, {}), rest, value, mark) if rest else value
    return replace(node, value=node.value | {step: below}, keys={step: mark} | node.keys)


def _findings(found: list[Move]) -> Iterator[Finding]:
    free = [move for move in found if move.taken_at is None]
    if free:
        first, file = free[0], free[0].mark.file
        patterns = dict.fromkeys(move.pattern for move in free)
        places = ", ".join(f"{'.'.join(old[1:])} is now {'.'.join(MOVES[old][1:])}" for old in patterns)
        words = "1 field is at its old place" if len(free) == 1 else f"{len(free)} fields are at old places"
        yield MOVED.at(first.new, f"{words}: {places}", fix=f"run gpuc fix {file}", mark=first.mark)
    for move in found:
        if move.taken_at is not None:
            new = ".".join(map(str, move.new[1:]))
            message = f"{'.'.join(map(str, move.old[1:]))} has moved to {new}, and the file has a value there"
            related = [Related(f"the value at {new}", mark=move.taken_at)]
            yield BOTH.at(move.new, message, mark=move.mark, related=related)
