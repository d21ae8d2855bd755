from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule

SUFFIXES = (".svc", ".cluster.local")


@rule(
    "NET109",
    Severity.WARNING,
    source="cilium/cilium v1.20.2 Documentation/security/policy/layer3.rst, DNS based: rules are intended for external "
    "connections and behave similarly to CIDR based rules, which match no pods",
)
def names_in_cluster(cluster: Cluster) -> Findings:
    """A tenant may connect to the host name of a Service in the cluster, but rules with names match no pods.

    Cilium learns the addresses of the name, but a rule with names applies only to addresses outside of the cluster.
    """
    for tenant in cluster.tenants:
        for index, egress in enumerate(tenant.spec.network.egress):
            for number, name in enumerate(egress.names or ()):
                if name.endswith(SUFFIXES):
                    path = (*tenant.path, "network", "egress", index, "names", number)
                    actual = f"egress of tenant {tenant.name} has {name}, the name of Services in the cluster"
                    yield path, f"{actual}; expected host names outside of the cluster"
