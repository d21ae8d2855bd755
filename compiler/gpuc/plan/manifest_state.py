"""The state of a cluster that manifests describe, without a spec."""

from __future__ import annotations

from gpuc.diagnostics.finding import Mark, Path
from gpuc.diagnostics.usage import UsageError
from gpuc.lint.load.load_objects import load_objects
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.plan.state import State


def manifest_state(path: str) -> tuple[State, list[str]]:
    """Returns the state that a file or folder of manifests describes, and sentences about what could not be read.

    Raises:
        UsageError: when the path does not exist, or has no objects: the plan would be that of a removed cluster.
    """
    loaded = load_objects([path])
    unread = [*loaded.unread_summary]
    if not loaded.manifests:
        raise UsageError("; ".join([f"{path} has no Kubernetes objects", *unread]))
    known = {id(manifest) for manifest in loaded.manifests}

    def locate(manifest: Manifest, field: Path) -> Mark | None:
        return loaded.locate(manifest, field) if id(manifest) in known else None

    state = State("", ObjectSet(loaded.manifests, is_complete=False), locate=locate)
    return state, unread
