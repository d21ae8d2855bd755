"""The model of a node pool: hardware, resources that its nodes advertise and can allocate, labels and taints."""

from functools import cached_property
from typing import Literal

from gpuc.catalog.records import Daemonset, InstanceType
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, MIB, Amounts, round_down, scale, smallest
from gpuc.kubernetes.kueue import LEVEL_LABELS, level_label, topology_name
from gpuc.kubernetes.toleration import Taint
from gpuc.model.names import EFA, EXCLUDED, GPUS_TAINT, HUGEPAGES, OPERANDS_LABEL, POOL_CLASS, POOL_LABEL, TENANT_KEY
from gpuc.model.sharing import Kind, Sharing
from gpuc.model.substrate import Nodes
from gpuc.spec.pools import Pool as PoolSpec

GPU_GATE_CPU_MILLI, GPU_GATE_MEMORY_MIB = 10, 32
"""Requests of the GPU gate, a DaemonSet on all GPU nodes."""

CILIUM_TAINT = Taint("node.cilium.io/agent-not-ready", "true", "NoExecute")
"""Startup taint of nodes until the Cilium agent is ready: NetworkPolicies have no effect on pods that start earlier."""


class Pool(Nodes, frozen=True, kw_only=True, dict=True):
    """The model of a node pool. Pools without GPUs have this class; GpuPool is the subclass for pools with GPUs."""

    name: str
    path: Path
    spec: PoolSpec
    instances: tuple[InstanceType, ...]
    dedicated_to: str
    """The name of the tenant to which the pool is dedicated; empty if the pool is not dedicated."""
    network_policy_engine: str
    """The program that enforces NetworkPolicies. On some clusters it also provides the pod network."""
    daemonsets: tuple[Daemonset, ...]
    """The DaemonSets that run on the nodes of the pool."""
    sharing: Sharing | None = None
    """GPU sharing; None if the pool has no GPUs."""

    @property
    def keeps_runs(self) -> bool:
        """Whether the nodes of the pool never drain while they have pods of a training run."""
        return self.spec.runs is not None if self.scaling is None else self.scaling.keeps_runs

    @property
    def is_gpu(self) -> bool:
        return self.sharing is not None

    @property
    def sharing_kind(self) -> Kind | None:
        return self.sharing.kind if self.sharing else None

    @property
    def has_efa(self) -> bool:
        return self.spec.fabric == "efa"

    @property
    def needs_ipc_lock(self) -> bool:
        """Whether pods need the capability IPC_LOCK to register memory for EFA.

        Without IPC_LOCK, the kernel compares the registered memory with the limit RLIMIT_MEMLOCK. On AL2023, user data
        removes this limit for containerd, and containers inherit it, so only pods on other images need IPC_LOCK.

        Source: torvalds/linux v6.12 drivers/infiniband/core/umem.c (ib_umem_get); awslabs/amazon-eks-ami v20260724
        nodeadm/internal/containerd/base-runtime-spec.json
        """
        return self.has_efa and self.image.id != "al2023"

    @property
    def is_static(self) -> bool:
        return self.existing is not None or self.spec.nodes.static is not None

    @property
    def warm_nodes(self) -> int:
        """The number of nodes that always run, in a pool that adds nodes for pending pods."""
        return self.spec.nodes.min or 0

    @property
    def always_running(self) -> int:
        """The number of nodes that always run: all nodes if their number is constant, otherwise the warm nodes."""
        return self.nodes_max if self.is_static else self.warm_nodes

    @property
    def admits_workloads(self) -> bool:
        """Whether Kueue admits new workloads to the pool. Not if the spec has `leaving` or `hold` for the pool."""
        return not (self.spec.leaving or self.spec.hold)

    @property
    def counted(self) -> Literal["kueue", "quota"]:
        """Who counts the resources that pods use on the pool: Kueue, or the ResourceQuotas of the namespaces."""
        return self.spec.counted or ("quota" if self.spec.purpose == "inference" else "kueue")

    @property
    def priority_class(self) -> str:
        """The PriorityClass of all pods on the pool; empty if the pool has GPUs or if Kueue counts its resources.

        Pods on all pools request cpu and memory, and a ResourceQuota distinguishes pods only by their PriorityClass. So
        a pool without GPUs needs its own PriorityClass if ResourceQuotas count its resources.

        Source: kubernetes/kubernetes v1.35.4 pkg/quota/v1/evaluator/core/pods.go (podMatchesScopeFunc)
        """
        return f"{POOL_CLASS}{self.name}" if self.counted == "quota" and not self.is_gpu else ""

    @property
    def mps_user(self) -> int | None:
        """The user ID of all containers that share a GPU with MPS; None if the pool does not use MPS."""
        mps = self.spec.sharing.mps if self.spec.sharing else None
        return mps.user if mps else None

    @property
    def nodes_max(self) -> int:
        """The maximum number of nodes. For nodes that exist, the number of nodes that can take pods."""
        return self.spec.nodes.static or self.spec.nodes.max or 0 if self.existing is None else self.existing

    @property
    def promised_nodes(self) -> int:
        """The number of nodes that quotas can give to queues and namespaces: all nodes without the spare nodes."""
        return self.nodes_max - self.spares

    @property
    def inventory(self) -> str:
        """A text such as "8 nodes less 1 excluded and 1 spare"; empty if quotas can use all nodes."""
        kinds = {"excluded": self.excluded, "spare" if self.spares == 1 else "spares": self.spares}
        listed = [f"{count} {kind}" for kind, count in kinds.items() if count]
        return f"{self.nodes_max + self.excluded} nodes less {' and '.join(listed)}" if listed else ""

    @property
    def nodes_path(self) -> Path:
        """The path in the spec of the number of nodes. For nodes that exist, the path of the names of the nodes."""
        return self.names_path or (*self.path, "nodes", "static" if self.is_static else "max")

    @property
    def gpus_per_node(self) -> int:
        """The number of GPUs of a node. If the instance types differ, the smallest number."""
        return min(instance.gpu_count for instance in self.instances)

    @property
    def mig_by_operator(self) -> bool:
        """Whether the MIG manager of the GPU Operator partitions the GPUs, after a node has joined the cluster."""
        return self.sharing_kind == "mig" and self.image.mig == "operator"

    @property
    def mig_by_user_data(self) -> bool:
        """Whether a script in the user data partitions the GPUs, while a node joins the cluster."""
        return self.sharing_kind == "mig" and self.image.mig == "user-data"

    @property
    def has_nvswitch(self) -> bool:
        """Whether an instance type of the pool has NVSwitches."""
        return any(instance.nvswitch for instance in self.instances)

    @property
    def judges_user_data(self) -> bool:
        """Whether nodes with this image can report that a script in `userData` of the spec failed."""
        return self.image.id in ("al2023", "ubuntu")

    @property
    def reports_gpus(self) -> bool:
        """Whether user data checks the GPUs of a new node and reports the result on the Node object."""
        return self.is_gpu and self.image.id == "al2023"

    def advertised(self, instance: InstanceType) -> dict[str, int]:
        """Returns the extended resources and the huge pages (in bytes) that a node of an instance type advertises."""
        resources = self.sharing.gpu_resources(instance.gpu_count) if self.sharing else {}
        if self.has_efa:
            resources[EFA] = instance.efa
            if self.hugepages_bytes:
                resources[HUGEPAGES] = self.hugepages_bytes
        return resources

    @cached_property
    def advertised_names(self) -> tuple[str, ...]:
        """The names of the extended resources and huge pages that every node of the pool advertises."""
        return tuple(self.advertised(self.instances[0]))

    @property
    def gpu_resource_names(self) -> tuple[str, ...]:
        """The names under which nodes advertise GPUs, MIG slices or GPU shares, for example nvidia.com/gpu."""
        return tuple(self.sharing.gpu_resources(self.gpus_per_node)) if self.sharing else ()

    @property
    def hugepages_bytes(self) -> int:
        """The huge pages, in bytes, that the node image allocates for EFA. Pods cannot use them as normal memory."""
        return self.image.efa_hugepages_2mi * 2 * MIB if self.has_efa else 0

    def allocatable(self, instance: InstanceType) -> Amounts:
        """Returns the allocatable resources of a node of the instance type."""
        amounts = dict(self.allocatable_of(instance))
        amounts[MEMORY] -= self.hugepages_bytes
        return amounts | self.advertised(instance)

    def tenant_allocatable(self, instance: InstanceType) -> Amounts:
        """Returns what pods of tenants can use on a node: the allocatable resources less those of DaemonSets."""
        amounts = self.allocatable(instance)
        for daemonset in self.daemonsets:
            for name, used in daemonset.requests.items():
                amounts[name] -= used
        if self.has_gate:
            amounts[CPU] -= GPU_GATE_CPU_MILLI
            amounts[MEMORY] -= GPU_GATE_MEMORY_MIB * MIB
        return amounts

    @cached_property
    def node(self) -> Amounts:
        """What pods of tenants can use on one node. If the instance types differ, the smallest amounts."""
        return round_down(smallest([self.tenant_allocatable(instance) for instance in self.instances]))

    @property
    def base_resources(self) -> Amounts:
        """The CPU, memory and ephemeral storage that pods of tenants can use on a node."""
        return {name: self.node[name] for name in (CPU, MEMORY, EPHEMERAL_STORAGE)}

    @cached_property
    def portions(self) -> dict[str, Amounts]:
        """The resources that belong to one GPU, by GPU resource. Without GPUs: an eighth of a node, with the key ''."""
        return {"": round_down(scale(self.base_resources, 1, 8))}

    @cached_property
    def capacity(self) -> Amounts:
        """The resources that pods of tenants can use on all nodes of the pool, without the spare nodes."""
        return {name: amount * self.promised_nodes for name, amount in self.node.items()}

    @property
    def level_labels(self) -> dict[str, str]:
        """The node labels of the pool's topology levels, largest level first. In Kueue, a host must be the last."""
        layers, levels = min(instance.network_layers for instance in self.instances), self.spec.topology or ()
        return {level: level_label(level, layers) for level in LEVEL_LABELS if level in levels}

    @property
    def topology_name(self) -> str:
        """The name of Kueue's Topology. It contains the levels, because the levels of a Topology are immutable."""
        return topology_name(self.level_labels)

    @cached_property
    def labels(self) -> dict[str, str]:
        """The labels that new nodes of the pool get."""
        return {**self.spec.node_labels, POOL_LABEL: self.name}

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """Taints of the nodes that only pods admitted by Kueue and DaemonSets of the platform tolerate.

        Without the taint of a general pool, pods of the platform would use nodes that the quotas give to tenants.
        """
        dedicated = (Taint(TENANT_KEY, self.dedicated_to),) if self.dedicated_to else ()
        own = (Taint(taint.key, taint.value, taint.effect) for taint in self.spec.taints)
        return (*(() if self.is_gpu else (Taint(POOL_LABEL, self.name),)), *dedicated, *own)

    @property
    def startup_labels(self) -> dict[str, str]:
        """Labels that keep pods of the GPU Operator off a new node. A DaemonSet removes them when the GPUs are ready.

        The pods tolerate the startup taint. Without the labels, they would use the GPUs while user data changes the MIG
        mode, and the change would fail.
        """
        return {OPERANDS_LABEL: "false"} if self.mig_by_user_data else {}

    @property
    def has_gate(self) -> bool:
        """Whether new nodes have the startup taint for GPUs. Nodes that exist already do not have it."""
        return self.is_gpu and self.scaling is not None

    @property
    def gpu_taints(self) -> tuple[Taint, ...]:
        """The startup taint of a new GPU node. A DaemonSet removes it when the node advertises its GPUs."""
        return (Taint(GPUS_TAINT, "pending"),) if self.has_gate else ()

    @property
    def startup_taints(self) -> tuple[Taint, ...]:
        """Taints that keep pods off a new node until it is ready. Pods that Kueue admits do not tolerate them.

        Source: Cilium documentation, taints and unmanaged pods: the Cilium agent removes its taint
        """
        cilium = (CILIUM_TAINT,) if self.network_policy_engine == "cilium" and self.scaling is not None else ()
        return (*self.gpu_taints, *cilium)

    @property
    def agent_taints(self) -> tuple[Taint, ...]:
        """The taints that DaemonSets of the platform must tolerate, because they run on new and on excluded nodes."""
        excluded = (Taint(EXCLUDED, "true"),) if self.existing is not None else ()
        return (*self.taints, *self.gpu_taints, *excluded)

    @property
    def boot_minutes(self) -> int:
        """The maximum time, in minutes, from the launch of a node to the start of its first pod.

        Source: kubernetes-sigs/kueue issues 2215 and 2732, the longest reported times
        """
        join_minutes = self.scaling.join_minutes if self.scaling else 0
        return join_minutes + 10 + (1 if self.has_efa else 0)  # image pull of up to 30 GB, EFA
