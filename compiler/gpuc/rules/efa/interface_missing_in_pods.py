from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.efa._environment import settings

POD_INTERFACE = "eth0"


@rule("EFA009", Severity.WARNING, source="NCCL user guide, NCCL_SOCKET_IFNAME")
def interface_missing_in_pods(cluster: Cluster) -> Findings:
    """NCCL is configured to use a network interface that pods do not have.

    A pod has only the interfaces eth0 and lo, not the interfaces of the node. NCCL finds no interface and stops.
    """
    for path, name, value in settings(cluster):
        if name in ("NCCL_SOCKET_IFNAME", "NCCL_OOB_NET_IFNAME") and not _selects(value):
            yield path, f"{name} is {value or 'empty'}; pods have only {POD_INTERFACE}", f"write {POD_INTERFACE}"


def _selects(value: str) -> bool:
    """Returns whether the value selects eth0. The value is a prefix, a name after =, or excludes interfaces after ^."""
    names = value.lstrip("^=").split(",")
    exact = "=" in value[:2]
    named = any(name == POD_INTERFACE if exact else bool(name) and POD_INTERFACE.startswith(name) for name in names)
    return not named if value.startswith("^") else named
