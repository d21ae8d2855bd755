from __future__ import annotations

from gpuc.diagnostics.spelling import nearest
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("POL001")
def unknown_policy(cluster: Cluster) -> Findings:
    """The spec configures a policy that does not exist.

    The name may be misspelled. In this case the cluster admits objects that the intended policy would deny.
    """
    known = cluster.known_policies
    for name in cluster.policy_specs:
        if name != "default" and name not in known:
            message = f"policy {name} does not exist; expected one of {', '.join(known)}"
            suggestion = nearest(name, [*known, "default"])
            yield ("spec", "policies", name), message, f"rename policy {name} to {suggestion}" if suggestion else ""
