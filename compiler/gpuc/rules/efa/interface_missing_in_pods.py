from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.efa._environment import profile_variables

POD_INTERFACE = "eth0"


@rule("EFA009", Severity.WARNING, source="NCCL user guide, NCCL_SOCKET_IFNAME")
def interface_missing_in_pods(cluster: Cluster) -> Findings:
    """NCCL is configured to use a network interface that pods do not have.

    A pod has only the interfaces eth0 and lo, not the interfaces of the node. NCCL finds no interface and stops.
    """
    for path, profile, name, value in profile_variables(cluster):
        if name in ("NCCL_SOCKET_IFNAME", "NCCL_OOB_NET_IFNAME") and not _selects(value):
            variable = f"{name} of NCCL profile {profile}"
            message = f"{variable} is {value or 'an empty string'}, but pods have only the interface {POD_INTERFACE}"
            yield path, message, f"set {variable} to {POD_INTERFACE}"


def _selects(value: str) -> bool:
    """Returns whether the value selects eth0.

    The value is a list of prefixes of interface names. After = the list contains complete names, and after ^ the list
    contains the interfaces that NCCL must not use.
    """
    names = value.lstrip("^=").split(",")
    exact = "=" in value[:2]
    is_listed = any(name == POD_INTERFACE if exact else bool(name) and POD_INTERFACE.startswith(name) for name in names)
    return not is_listed if value.startswith("^") else is_listed
