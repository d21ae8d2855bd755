from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.efa._environment import settings

POD_INTERFACE = "eth0"


@rule("EFA009", Severity.WARNING, source="NCCL user guide, NCCL_SOCKET_IFNAME")
def interface_missing_in_pods(cluster: Cluster) -> Findings:
    """NCCL is configured to use a network interface that pods do not have.

    A pod has eth0 and lo; interfaces of the host are not visible in it. NCCL finds no interface and stops.
    """
    for path, name, value in settings(cluster):
        if name in ("NCCL_SOCKET_IFNAME", "NCCL_OOB_NET_IFNAME") and not _selects(value):
            yield path, f"{name} is {value or 'empty'}; a pod has {POD_INTERFACE}", f"write {POD_INTERFACE}"


def _selects(value: str) -> bool:
    """Whether the value selects the interface of a pod: by prefix, exactly after =, all others after ^."""
    names = value.lstrip("^=").split(",")
    exact = "=" in value[:2]
    named = any(name == POD_INTERFACE if exact else bool(name) and POD_INTERFACE.startswith(name) for name in names)
    return not named if value.startswith("^") else named
