"""Components that other teams install: the versions, namespaces and Helm values on which the objects of gpuc rely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuc.catalog.records import Release
from gpuc.emit.component import Component
from gpuc.manifest.manifest import Body, Values
from gpuc.model import Cluster


@dataclass(frozen=True)
class UnmanagedComponent:
    """A component that another team installs."""

    release: Release
    """The chart, with the version and the namespace that gpuc expects."""
    file: str = ""
    """The path of the values relative to the README of the cluster; empty for a chart without values."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Reasons by the path of a Helm value, or of a map with values, for example settings.clusterName."""


def unmanaged_components(cluster: Cluster, components: tuple[Component, ...]) -> list[UnmanagedComponent]:
    """Returns the components that other teams install, in sync order."""
    return [_unmanaged(cluster, component) for component in components if not cluster.is_managed(component.name)]


def _unmanaged(cluster: Cluster, component: Component) -> UnmanagedComponent:
    release = component.release(cluster)
    emitted = component.artifacts(cluster) if component.artifacts else ()
    values = next((artifact for artifact in emitted if isinstance(artifact, Values)), None)
    if values is None:
        return UnmanagedComponent(release)
    reasons = {path: reason for path, reason in component.reasons.items() if _has(values.body, path)}
    return UnmanagedComponent(release, values.file.removeprefix(cluster.entry("")), reasons)


def _has(body: Body, path: str) -> bool:
    """Returns whether Helm values contain a path."""
    value: Any = body
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True
