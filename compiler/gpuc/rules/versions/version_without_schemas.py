from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule(
    "VER101",
    Severity.WARNING,
    source="NVIDIA/gpu-operator v26.7.0 deployments/gpu-operator/values.yaml, which has no schema",
)
def version_without_schemas(cluster: Cluster) -> Findings:
    """gpuc has no schemas for the version of a component.

    gpuc checks objects and Helm values with the schemas of the release set's version. gpuc does not find keys that your
    version removed or changed. The cluster refuses or ignores such keys.
    """
    released = cluster.catalog.releases[cluster.spec.releases.set]
    for name, version in cluster.spec.releases.components.items():
        known = released[name].version
        if version != known:
            message = f"{name} is {version}; gpuc has schemas for {known}, from release set {cluster.spec.releases.set}"
            yield ("spec", "releases", "components", name), message
