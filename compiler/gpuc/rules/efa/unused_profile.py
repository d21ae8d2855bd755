from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("EFA108", Severity.WARNING)
def unused_profile(cluster: Cluster) -> Findings:
    """No namespace uses an NCCL profile.

    No pod gets the environment variables of the profile.
    """
    used = {namespace.nccl.name for _, namespace in cluster.namespaces if namespace.nccl}
    for name in cluster.spec.nccl.profiles:
        if name not in used:
            yield ("spec", "nccl", "profiles", name, "fabric"), f"no namespace uses NCCL profile {name}"
