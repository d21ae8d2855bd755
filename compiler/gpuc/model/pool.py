"""A node pool, resolved: hardware, what its nodes advertise and leave to pods, labels and taints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from gpuc.catalog.operations import Kubelet
from gpuc.catalog.records import Daemonset, Gpu, Image, InstanceType, MigProfileSet
from gpuc.diagnostics.finding import Path
from gpuc.model.names import (
    CPU,
    EFA,
    GPU,
    GPU_TAINT_VALUE,
    HUGEPAGES,
    LAYOUT_TAINT,
    MEMORY,
    MIG_CONFIG_LABEL,
    MODE_KEY,
    PLUGIN_CONFIG_LABEL,
    POOL_LABEL,
    TENANT_KEY,
)
from gpuc.model.node import predicted_allocatable
from gpuc.model.sharing import Sharing
from gpuc.model.vector import GIB, MIB, Vector, smallest
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


@dataclass(frozen=True)
class Pool:
    """Nodes of one kind."""

    name: str
    path: Path
    spec: PoolSpec
    instances: tuple[InstanceType, ...]
    gpu: Gpu | None
    """None in general pools."""
    profiles: MigProfileSet | None
    """The MIG profiles of its GPUs; None without MIG."""
    image: Image
    ami: str
    """The alias with its version, or the AMI's id."""
    zones: tuple[str, ...]
    sharing: Sharing | None
    """None in general pools."""
    dedicated_to: str
    """The tenant that has it for itself; empty where it is not dedicated."""
    network_policy_engine: str
    """Who enforces NetworkPolicies, which on some clusters is also what connects pods."""
    daemonsets: tuple[Daemonset, ...]
    """What lands on its nodes beside tenants' pods."""
    kubelet: Kubelet

    @property
    def is_gpu(self) -> bool:
        return self.gpu is not None

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
        """Whether the kubelet pins cores and aligns them with GPUs: training on whole GPUs."""
        return self.spec.purpose == "training" and self.sharing is not None and self.sharing.mode == "exclusive"

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
        return self._has_mig and self.image.mig == "operator"

    @property
    def mig_by_user_data(self) -> bool:
        """Whether the node partitions itself before its kubelet starts."""
        return self._has_mig and self.image.mig == "user-data"

    @property
    def _has_mig(self) -> bool:
        return self.sharing is not None and self.sharing.kind == "mig"

    def advertised(self, instance: InstanceType) -> dict[str, int]:
        """Pieces, and bytes of huge pages, by extended resource that a node of the type offers to pods."""
        found: dict[str, int] = {}
        if self.sharing is not None:
            found |= self.sharing.gpu_resources(instance.gpu_count)
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
        return tuple(self.sharing.gpu_resources(self.gpus_per_node)) if self.sharing else ()

    @property
    def hugepages_bytes(self) -> int:
        """Huge pages that the image allocates on every node for EFA; they are gone from memory."""
        return self.image.efa_hugepages_2mi * 2 * MIB if self.has_efa else 0

    def allocatable(self, instance: InstanceType) -> Vector:
        """All that Karpenter predicts for a node of the type, before daemonsets."""
        disk_bytes = instance.local_nvme_gb * 10**9 if self.uses_instance_store else self.root_volume_bytes
        system_cpu_milli = SYSTEM_CPU_MILLI if self.pins_cpus else 0
        vector = predicted_allocatable(instance, self.kubelet, disk_bytes, system_cpu_milli)
        vector[MEMORY] -= self.hugepages_bytes
        return vector | self.advertised(instance)

    def left(self, instance: InstanceType) -> Vector:
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
    def node(self) -> Vector:
        """What a tenant gets with one node, whichever type it is: the smallest of each figure."""
        return smallest([self.left(instance) for instance in self.instances])

    @cached_property
    def capacity(self) -> Vector:
        """What all nodes together can give to tenants."""
        return {name: amount * self.nodes_max for name, amount in self.node.items()}

    @property
    def layout_name(self) -> str:
        """The name of its MIG layout in the operator's configuration."""
        return f"gpuc-{self.name}"

    @cached_property
    def labels(self) -> dict[str, str]:
        """Labels that its nodes have from the start."""
        labels = {POOL_LABEL: self.name}
        if self.sharing is not None:
            labels[MODE_KEY] = self.sharing.mode
            labels[PLUGIN_CONFIG_LABEL] = self.sharing.plugin_config
        if self.mig_by_operator:
            labels[MIG_CONFIG_LABEL] = self.layout_name
        return labels

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """What keeps other work off; tolerated by its flavor and by node agents."""
        taints = []
        if self.sharing is not None:
            taints += [Taint(GPU, GPU_TAINT_VALUE), Taint(MODE_KEY, self.sharing.mode)]
        if self.dedicated_to:
            taints.append(Taint(TENANT_KEY, self.dedicated_to))
        return tuple(taints)

    @property
    def layout_taints(self) -> tuple[Taint, ...]:
        """What keeps pods off until the MIG manager is done; node agents work behind it."""
        return (Taint(LAYOUT_TAINT, "pending"),) if self.mig_by_operator else ()

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
        minutes = 4 + 10  # launch and join, image pull of up to 30 GB
        if self.is_gpu and self.image.driver == "operator":
            minutes += 8
        if self._has_mig:
            minutes += 3
            if self.gpu is not None and self.gpu.architecture == "ampere":
                minutes += 10  # MIG mode may need one reboot
        if self.mig_by_operator:
            minutes += 1
        return minutes + (1 if self.has_efa else 0)
