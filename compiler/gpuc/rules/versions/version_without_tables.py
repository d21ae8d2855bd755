from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule(
    "VER101",
    Severity.WARNING,
    source="NVIDIA/gpu-operator v26.7.0 deployments/gpu-operator/values.yaml, which has no schema",
)
def version_without_tables(cluster: Cluster) -> Findings:
    """A component has a version that gpuc has no tables for.

    Its objects and values are checked against the tables of the release set's version: a key that has gone or changed
    is not seen before the cluster sees it.
    """
    released = cluster.catalog.releases[cluster.spec.releases.set]
    for name, version in cluster.spec.releases.components.items():
        known = released[name].version
        if version != known:
            message = f"{name} is {version}; the tables are those of {known} in set {cluster.spec.releases.set}"
            yield ("spec", "releases", "components", name), message
