"""Compatibility of components and Kubernetes versions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster

Numbers = tuple[int, ...]


def numbers(version: str) -> Numbers:
    """Returns the numbers of a version, for example (26, 7, 0) for v26.7.0."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def incompatible_components(cluster: Cluster, *, certain: bool) -> Iterator[tuple[Path, str]]:
    """Yields a spec path and a message for components that do not support the cluster's Kubernetes version.

    With `certain`, the facts of low confidence in the catalog are ignored; otherwise only these facts are used.
    """
    cluster_version, kubernetes = cluster.spec.kubernetes, ("spec", "kubernetes")
    sentences = [*_unsupported(cluster, certain)]
    if sentences:
        yield kubernetes, f"the Kubernetes version is {cluster_version}, but {', '.join(sentences)}"
    row = cluster.catalog.kubernetes.get(cluster_version)
    if row and certain == (row.confidence != "low"):
        for name, least in (("karpenter", row.karpenter_min), ("gpu-operator", row.gpu_operator_min)):
            version = cluster.components[name].version
            if least and numbers(version) < numbers(least):
                is_overridden = name in cluster.spec.releases.components
                path = ("spec", "releases", "components", name) if is_overridden else kubernetes
                yield (
                    path,
                    f"{name} {version} is too old for Kubernetes {cluster_version}, which needs {least} or later",
                )


def _unsupported(cluster: Cluster, certain: bool) -> Iterator[str]:
    """Yields a sentence for each component whose supported Kubernetes versions do not include the cluster's version."""
    cluster_version = numbers(cluster.spec.kubernetes)
    for name, released in cluster.catalog.releases[cluster.spec.releases.set].items():
        low, high = released.kubernetes_min, released.kubernetes_max
        # The catalog has no range for an overridden version.
        if cluster.components[name].version != released.version or certain != (released.confidence != "low"):
            continue
        if (low and cluster_version < numbers(low)) or (high and cluster_version > numbers(high)):
            bounds = f"{low or 'any'} to {high}" if high else f"{low} and later"
            yield f"{name} {released.version} supports {bounds}"
