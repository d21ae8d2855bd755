from __future__ import annotations

from gpuc.catalog.schemas import builtin_versions
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.versions.compatibility import supported_versions


@rule("VER105")
def kubernetes_without_schemas(cluster: Cluster) -> Findings:
    """gpuc does not support the cluster's Kubernetes version.

    gpuc has no schemas of this version, so it cannot check the objects in its output.
    """
    if cluster.spec.kubernetes not in builtin_versions():
        known = ", ".join(supported_versions(cluster))
        message = f"gpuc does not support Kubernetes {cluster.spec.kubernetes}; expected one of {known}"
        yield ("spec", "kubernetes"), message
