from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule
from gpuc.rules.policies._stages import unknown_names


@rule("POL001")
def unknown_policy(cluster: Cluster) -> Findings:
    """The spec configures a policy that does not exist.

    The name may be misspelled. In this case the cluster admits objects that the intended policy would deny.
    """
    known = cluster.known_policies
    for name, meant in unknown_names(cluster):
        message = f"policy {name} does not exist; expected one of {', '.join(known)}"
        fix = f"rename policy {name} to {meant}" if meant else ""
        yield Found(("spec", "policies", name), message, fix, on_key=True)
