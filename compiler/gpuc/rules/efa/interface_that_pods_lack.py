from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.efa._environment import settings

OF_A_POD = "eth0"


@rule("EFA009", Severity.WARNING, source="NCCL user guide, NCCL_SOCKET_IFNAME")
def interface_that_pods_lack(cluster: Cluster) -> Findings:
    """NCCL shall start over a network interface that pods do not have.

    A pod has eth0 and lo; interfaces of the host are not seen in it. NCCL finds no interface and gives up.
    """
    for path, name, value in settings(cluster):
        if name in ("NCCL_SOCKET_IFNAME", "NCCL_OOB_NET_IFNAME") and not _selects(value):
            yield path, f"{name} is {value or 'empty'}; a pod has {OF_A_POD}", f"write {OF_A_POD}"


def _selects(value: str) -> bool:
    """Whether the interface of a pod is among those that the value names: by beginning, exactly with =, not with ^."""
    names = value.lstrip("^=").split(",")
    exact = "=" in value[:2]
    named = any(name == OF_A_POD if exact else bool(name) and OF_A_POD.startswith(name) for name in names)
    return not named if value.startswith("^") else named
