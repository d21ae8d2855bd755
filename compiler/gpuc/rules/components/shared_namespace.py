from __future__ import annotations

from gpuc.model import Cluster
from gpuc.model.cluster import ALWAYS_PLATFORM
from gpuc.rules import Findings, rule


@rule("CMP001", source="argoproj/argo-cd v3.5.1 docs/user-guide/sync-options.md, managedNamespaceMetadata")
def shared_namespace(cluster: Cluster) -> Findings:
    """Two components that gpuc installs have the same namespace.

    The Application of each component sets the labels of its namespace, and removes the labels of the other component.
    Without its labels, the namespace refuses pods that use the host, or Gatekeeper denies pods of the platform.
    """
    charts_of_crds = {release.crds_from for name, release in cluster.components.items() if release.crds_from != name}
    owners: dict[str, list[str]] = {}
    for name, release in cluster.components.items():
        if cluster.is_managed(name) and name not in charts_of_crds and release.namespace not in ALWAYS_PLATFORM:
            owners.setdefault(release.namespace, []).append(name)
    for namespace, names in owners.items():
        for name in names if len(names) > 1 else ():
            settings = cluster.spec.components.get(name)
            if settings is not None and settings.namespace is not None:
                others = ", ".join(other for other in names if other != name)
                message = f"component {name} has namespace {namespace}, which is also the namespace of {others}"
                yield ("spec", "components", name, "namespace"), f"{message}; expected a namespace of its own"
