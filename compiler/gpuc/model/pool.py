"""A node pool, resolved: hardware, what its nodes advertise and leave to pods, labels and taints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from gpuc.catalog.operations import Kubelet
from gpuc.catalog.records import Daemonset, Image, InstanceType
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, GIB, MEMORY, MIB, Amounts, scale, smallest
from gpuc.kubernetes.kueue import LEVEL_LABELS
from gpuc.model.names import EFA, HUGEPAGES, POOL_LABEL, TENANT_KEY
from gpuc.model.node import predicted_allocatable
from gpuc.model.sharing import Sharing
from gpuc.spec.pools import Pool as PoolSpec

LAYOUT_GATE_CPU_MILLI, LAYOUT_GATE_MEMORY_MIB = 10, 32
"""What the gate asks for on each node whose MIG layout comes after it joined."""
SYSTEM_CPU_MILLI = 1000
"""What training nodes keep for the system: pinned cores need whole ones beside them."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of nodes."""

    key: str
    value: str
    effect: Literal["NoSchedule", "NoExecute"] = "NoSchedule"

    def document(self) -> dict[str, str]:
        """As nodes carry it."""
        return {"key": self.key, "value": self.value, "effect": self.effect}

    def toleration(self) -> dict[str, str]:
        """The toleration of exactly this taint."""
        return {"key": self.key, "operator": "Equal", "value": self.value, "effect": self.effect}


CILIUM_TAINT = Taint("node.cilium.io/agent-not-ready", "true", "NoExecute")
"""On nodes whose pods are not connected yet."""


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Nodes of one kind; without GPUs where it is no GpuPool."""

    name: str
    path: Path
    spec: PoolSpec
    instances: tuple[InstanceType, ...]
    image: Image
    ami: str
    """The alias with its version, or the AMI's id."""
    zones: tuple[str, ...]
    dedicated_to: str
    """The tenant that has it for itself; empty where it is not dedicated."""
    network_policy_engine: str
    """Who enforces NetworkPolicies, which on some clusters is also what connects pods."""
    daemonsets: tuple[Daemonset, ...]
    """What lands on its nodes beside tenants' pods."""
    kubelet: Kubelet
    sharing: Sharing | None = None
    """How its GPUs are shared; None where it has none."""

    @property
    def is_gpu(self) -> bool:
        return False

    @property
    def has_efa(self) -> bool:
        return self.spec.fabric == "efa"

    @property
    def is_static(self) -> bool:
        return self.spec.nodes.static is not None

    @property
    def nodes_max(self) -> int:
        """The most nodes that can exist."""
        return self.spec.nodes.static or self.spec.nodes.max or 0

    @property
    def gpus_per_node(self) -> int:
        """GPUs of the smallest node."""
        return min(instance.gpu_count for instance in self.instances)

    @property
    def pins_cpus(self) -> bool:
        """Whether the kubelet pins cores and aligns them with GPUs."""
        return False

    @property
    def uses_instance_store(self) -> bool:
        """Whether local NVMe carries pods' storage: where every type has some and the image's family sets it up."""
        return self.image.ami_family != "Custom" and all(instance.local_nvme_gb for instance in self.instances)

    @property
    def root_volume_bytes(self) -> int:
        return self.spec.root_volume or (200 if self.is_gpu else 100) * GIB

    @property
    def mig_by_operator(self) -> bool:
        """Whether the GPU Operator's MIG manager partitions the GPUs, after the node has joined."""
        return False

    @property
    def mig_by_user_data(self) -> bool:
        """Whether the node partitions itself before its kubelet starts."""
        return False

    def advertised(self, instance: InstanceType) -> dict[str, int]:
        """Pieces, and bytes of huge pages, by extended resource that a node of the type offers to pods."""
        found: dict[str, int] = {}
        if self.has_efa:
            found[EFA] = instance.efa
            if self.hugepages_bytes:
                found[HUGEPAGES] = self.hugepages_bytes
        return found

    @cached_property
    def advertised_names(self) -> tuple[str, ...]:
        """The extended resources of its nodes, the same on each type."""
        return tuple(self.advertised(self.instances[0]))

    @property
    def gpu_resource_names(self) -> tuple[str, ...]:
        """The resources that stand for GPUs, slices or shares."""
        return ()

    @property
    def hugepages_bytes(self) -> int:
        """Huge pages that the image allocates on every node for EFA; they are gone from memory."""
        return self.image.efa_hugepages_2mi * 2 * MIB if self.has_efa else 0

    def allocatable(self, instance: InstanceType) -> Amounts:
        """All that Karpenter predicts for a node of the type, before daemonsets."""
        disk_bytes = instance.local_nvme_gb * 10**9 if self.uses_instance_store else self.root_volume_bytes
        system_cpu_milli = SYSTEM_CPU_MILLI if self.pins_cpus else 0
        vector = predicted_allocatable(instance, self.kubelet, disk_bytes, system_cpu_milli)
        vector[MEMORY] -= self.hugepages_bytes
        return vector | self.advertised(instance)

    def left(self, instance: InstanceType) -> Amounts:
        """What tenants' pods can have of a node of the type: allocatable less the daemonsets' requests."""
        vector = self.allocatable(instance)
        for daemonset in self.daemonsets:
            vector[CPU] -= daemonset.cpu_milli
            vector[MEMORY] -= daemonset.memory_mib * MIB
        if self.mig_by_operator:
            vector[CPU] -= LAYOUT_GATE_CPU_MILLI
            vector[MEMORY] -= LAYOUT_GATE_MEMORY_MIB * MIB
        return vector

    @cached_property
    def node(self) -> Amounts:
        """What a tenant gets with one node, whichever type it is: the smallest of each figure."""
        return smallest([self.left(instance) for instance in self.instances])

    @property
    def machine(self) -> Amounts:
        """The part of a node that every pod takes some of."""
        return {name: self.node[name] for name in (CPU, MEMORY, EPHEMERAL_STORAGE)}

    @cached_property
    def portions(self) -> dict[str, Amounts]:
        """What a small part of a node has; where there is no GPU to count by, an eighth of it."""
        return {"": scale(self.machine, 1, 8)}

    @cached_property
    def capacity(self) -> Amounts:
        """What all nodes together can give to tenants."""
        return {name: amount * self.nodes_max for name, amount in self.node.items()}

    @property
    def topology_levels(self) -> list[str]:
        """The topology levels that it names, widest first: Kueue refuses a host that is not the last."""
        return [level for level in LEVEL_LABELS if level in (self.spec.topology or ())]

    @property
    def topology_name(self) -> str:
        """The name says the levels, because levels are immutable: other levels are another object."""
        return "-".join(self.topology_levels)

    @cached_property
    def labels(self) -> dict[str, str]:
        """Labels that its nodes have from the start."""
        return {POOL_LABEL: self.name}

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """What keeps other work off; tolerated by its flavor and by node agents."""
        return (Taint(TENANT_KEY, self.dedicated_to),) if self.dedicated_to else ()

    @property
    def layout_taints(self) -> tuple[Taint, ...]:
        """What keeps pods off until the MIG manager is done; node agents work behind it."""
        return ()

    @property
    def startup_taints(self) -> tuple[Taint, ...]:
        """What keeps pods off until a node is ready; never tolerated by a flavor.

        Source: Cilium documentation, taints and unmanaged pods: its agent takes this taint away
        """
        cilium = (CILIUM_TAINT,) if self.network_policy_engine == "cilium" else ()
        return (*self.layout_taints, *cilium)

    @property
    def agent_taints(self) -> tuple[Taint, ...]:
        """What node agents have to tolerate so that the node becomes ready at all."""
        return (*self.taints, *self.layout_taints)

    @property
    def boot_minutes(self) -> int:
        """The longest that a node takes from its launch to its first pod's start.

        Source: kubernetes-sigs/kueue issues 2215 and 2732, upper ends of the ranges told there
        """
        return 4 + 10 + (1 if self.has_efa else 0)  # launch and join, image pull of up to 30 GB, EFA
