from __future__ import annotations

from gpuc.diagnostics.spelling import nearest, write
from gpuc.model import Cluster
from gpuc.policy.library import policies
from gpuc.rules import Findings, rule


@rule("POL001")
def unknown_policy(cluster: Cluster) -> Findings:
    """A policy does not exist.

    The cluster admits what the intended policy would refuse.
    """
    known = policies()
    for name in cluster.spec.policies:
        if name != "default" and name not in known:
            message = f"there is no policy {name}; the policies are {', '.join(known)}"
            yield ("spec", "policies", name), message, write(nearest(name, [*known, "default"]))
