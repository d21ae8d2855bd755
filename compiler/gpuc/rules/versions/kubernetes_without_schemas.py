from __future__ import annotations

from gpuc.catalog.schemas import builtin_versions
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.versions._compatibility import incompatible_components


@rule("VER105")
def kubernetes_without_schemas(cluster: Cluster) -> Findings:
    """gpuc has no schemas for the cluster's Kubernetes version.

    Without schemas gpuc cannot check the objects in its output.
    """
    is_out_of_range = any(incompatible_components(cluster, certain=True))  # KRP022 reports these versions
    if cluster.spec.kubernetes not in builtin_versions() and not is_out_of_range:
        known = ", ".join(builtin_versions())
        message = f"gpuc has no schemas for Kubernetes {cluster.spec.kubernetes}; expected one of {known}"
        yield ("spec", "kubernetes"), message
