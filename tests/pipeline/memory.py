"""Compiles a merged spec in memory and returns the findings and artifacts; prints and writes nothing."""

from functools import cache
from typing import Any

from msgspec.structs import replace

from gpuc.diagnostics.finding import Finding, Path, StageError
from gpuc.manifest.manifest import Artifact, Manifest, Values
from gpuc.pipeline.fleet_policies import FleetPolicies
from gpuc.pipeline.stages import compile_source
from gpuc.source import Source, read
from tests.conftest import root_of
from tests.values import walk


@cache
def source(name: str) -> Source:
    """The source of an example cluster of this repository, or of the fleet with a hub."""
    return read(root_of(name), f"specs/{name}.yaml")


def compile_tree(name: str, tree: dict[str, Any]) -> tuple[list[Finding], list[Artifact]]:
    """Findings and artifacts of a tree in the place of an example's; no artifacts where an error stops the line."""
    changed = replace(source(name), tree=tree, raw={})
    try:
        done = compile_source(changed, FleetPolicies({}))
    except StageError as stop:
        return list(stop.findings), []
    return list(done.findings), list(done.artifacts)


def leaves(node: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    """Every scalar of a tree with its path."""
    return [(path, value) for path, value in walk(node, path) if not isinstance(value, dict | list)]


def read_by_controllers(artifacts: list[Artifact]) -> dict[str, Any]:
    """Returns the data that controllers read: objects and Helm values by location, without most annotations."""
    found: dict[str, Any] = {}
    for artifact in artifacts:
        if isinstance(artifact, Values):
            found[artifact.file] = artifact.body
        elif isinstance(artifact, Manifest) and "/workloads/" not in artifact.file:
            document = artifact.document()
            metadata = dict(document["metadata"])
            metadata.pop("annotations", None)
            key = f"{artifact.api}/{artifact.kind}/{artifact.namespace}/{artifact.name}"
            found[key] = document | {"metadata": metadata}
    return found


def reasons(artifacts: list[Artifact]) -> set[str]:
    """The text of every annotation."""
    return {text for artifact in artifacts if isinstance(artifact, Manifest) for text in artifact.annotations.values()}
