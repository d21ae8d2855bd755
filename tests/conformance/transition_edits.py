"""The edits of example specs whose transitions are compared: made by hand, and one for each leaf of the specs."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from msgspec.structs import replace

from gpuc.diagnostics.finding import StageError
from gpuc.manifest.manifest import Manifest
from gpuc.pipeline.stages import CompiledSpec
from gpuc.plan import state as plan
from gpuc.plan.state import state_after
from gpuc.source import Source
from gpuc_rehearsal.transition.run import compiled_from
from tests.conftest import EXAMPLES, root_of
from tests.pipeline.memory import leaves, source
from tests.pipeline.other_values import ABSENT, other
from tests.values import changed, without

FILE = Path(__file__).with_name("transition_edits.yaml")
CLUSTER = "prod-use1"
Tree = dict[str, Any]


@dataclass(frozen=True)
class State:
    """A spec in the folder of its fleet."""

    root: Path
    source: Source

    def compiled(self) -> CompiledSpec | str:
        """Compiles the spec; returns the first error if it does not compile."""
        try:
            return compiled_from(self.root, self.source)
        except StageError as error:
            first = next(finding for finding in error.findings if finding.is_error)
            return f"{first.id}: {first.message}"

    def planned(self, compiled: CompiledSpec) -> plan.State:
        """Returns the state that `gpuc plan` reads: its components are in the namespaces of the spec."""
        return state_after(compiled_from(self.root, self.source, keeps_namespaces=True) if compiled.moved else compiled)


@dataclass(frozen=True)
class Edit:
    """A change of the spec of a cluster."""

    name: str
    cluster: str
    before: State
    after: State
    base: str = ""
    """What distinguishes the state before from the example; empty for the example as it is."""
    plane: str = ""
    """The name of a control plane that starts with the state before; empty for that of the example cluster.

    The objects of another state before cannot always replace those of the example, for example an immutable field.
    """
    is_ci: bool = False
    workloads: tuple[Manifest, ...] = ()
    """The objects of users that run before the change; empty for work that fills the quotas."""
    upstream: str = ""
    """The source line that explains a difference that gpuc cannot predict."""


@cache
def edit_rows() -> dict[str, Mapping[str, Any]]:
    """Returns the rows of transition_edits.yaml by name."""
    rows = yaml.load(FILE.read_text(encoding="utf-8"), yaml.CSafeLoader)
    found = {row["name"]: row for row in rows}
    assert len(found) == len(rows), "two edits have the same name"
    return found


def made_edits() -> list[Edit]:
    """Returns the edits of transition_edits.yaml."""
    return [made_edit(name) for name in edit_rows()]


def made_edit(name: str) -> Edit:
    """Returns an edit of transition_edits.yaml."""
    return _made(edit_rows()[name])


def leaf_edits() -> Iterator[Edit]:
    """Yields an edit for each leaf of the example specs."""
    for cluster in EXAMPLES:
        tree = source(cluster).tree
        for path, value in leaves(tree):
            name = f"{cluster} {'.'.join(map(str, path))}"
            after = without(tree, path) if path[-1] in ABSENT else changed(tree, path, other(path, value))
            yield Edit(name, cluster, example_state(cluster, tree), example_state(cluster, after))


def example_state(cluster: str, tree: Tree | None = None) -> State:
    """Returns the state of an example spec, or of another merged spec in its place."""
    found = source(cluster)
    return State(root_of(cluster), found if tree is None else replace(found, tree=tree, raw={}))


def merged(tree: Tree, layer: Mapping[str, Any]) -> Tree:
    """Returns the tree merged with a layer: maps are merged, lists are replaced, None removes a key.

    Raises:
        KeyError: when the layer removes a key that the tree does not have.
    """
    result = dict(tree)
    for key, value in layer.items():
        if value is None:
            del result[key]
        elif isinstance(value, dict):
            below = result.get(key)
            result[key] = merged(below if isinstance(below, dict) else {}, value)
        else:
            result[key] = value
    return result


def _made(row: Mapping[str, Any]) -> Edit:
    unknown = row.keys() - {"name", "cluster", "spec", "before", "ci", "upstream"}
    assert not unknown, f"{row['name']}: unknown keys {unknown}"
    cluster = row.get("cluster", CLUSTER)
    try:
        before = merged(deepcopy(source(cluster).tree), {"spec": row.get("before", {})})
        after = merged(before, {"spec": row["spec"]})
    except KeyError as error:
        raise AssertionError(f"{row['name']}: the spec has no key {error}") from None
    base = yaml.safe_dump(row["before"]) if "before" in row else ""
    states = example_state(cluster, before), example_state(cluster, after)
    return Edit(row["name"], cluster, *states, base, is_ci=bool(row.get("ci")), upstream=row.get("upstream", ""))
