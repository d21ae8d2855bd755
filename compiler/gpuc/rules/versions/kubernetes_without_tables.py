from __future__ import annotations

from gpuc.catalog.schemas import builtin_versions
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.versions._compatibility import schema_errors


@rule("VER105")
def kubernetes_without_tables(cluster: Cluster) -> Findings:
    """The kinds of the cluster's Kubernetes version are not known.

    No object could be checked against the version's schemas before it is written.
    """
    is_out_of_range = any(schema_errors(cluster, certain=True))  # another rule's
    if cluster.spec.kubernetes not in builtin_versions() and not is_out_of_range:
        message = (
            f"the kinds of Kubernetes {cluster.spec.kubernetes} are not known; {', '.join(builtin_versions())} are"
        )
        yield ("spec", "kubernetes"), message
