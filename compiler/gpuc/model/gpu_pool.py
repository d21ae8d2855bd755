"""A node pool with GPUs: how containers share them, and which part of a node belongs to one GPU or MIG slice."""

from functools import cached_property

from gpuc.catalog.records import Gpu, MigProfileSet
from gpuc.kubernetes.amounts import Amounts, round_down, scale
from gpuc.kubernetes.toleration import Taint
from gpuc.model.names import GPU, GPU_TAINT_VALUE, MIG_CONFIG_LABEL, MODE_KEY, PLUGIN_CONFIG_LABEL
from gpuc.model.pool import Pool
from gpuc.model.sharing import Sharing


class GpuPool(Pool, frozen=True, kw_only=True, dict=True):
    """A node pool whose nodes have GPUs. All nodes have the same GPU model."""

    gpu: Gpu
    profiles: MigProfileSet
    """The MIG profiles of the GPUs. Empty if the GPUs do not support MIG."""
    sharing: Sharing

    @cached_property
    def portions(self) -> dict[str, Amounts]:
        """The part of a node's resources that belongs to one GPU, MIG slice or GPU share, by the name of this resource.

        CPU, memory and ephemeral storage are rounded down. For a GPU, they are rounded to full cores and GiB, because
        the kubelet can pin only full cores. For a slice or share, they are rounded to 100m and GiB: a node has many
        slices or shares, so full cores would waste many cores.
        """
        if self.sharing.kind != "mig":
            whole = self.sharing.kind == "exclusive"
            fraction = round_down(scale(self.base_resources, 1, self.gpus_per_node * self.sharing.replicas), whole)
            return {name: {**fraction, name: 1} for name in self.gpu_resource_names}
        portions: dict[str, Amounts] = {}
        if self.sharing.whole_gpus:
            portions[GPU] = {**round_down(scale(self.base_resources, 1, self.gpus_per_node)), GPU: 1}
        for profile in self.sharing.slices():
            name, slices = self.sharing.resource(profile), self.profiles.profiles[profile].memory_slices
            fraction = scale(self.base_resources, slices, self.profiles.memory_slices * self.gpus_per_node)
            portions.setdefault(name, {**round_down(fraction, full_cores=False), name: 1})
        return {name: portions[name] for name in self.gpu_resource_names}

    @property
    def layout_name(self) -> str:
        """The name of the pool's MIG layout in the configuration of the GPU Operator."""
        return f"gpuc-{self.name}"

    @cached_property
    def labels(self) -> dict[str, str]:
        layout = {MIG_CONFIG_LABEL: self.layout_name} if self.mig_by_operator else {}
        sharing = {MODE_KEY: self.sharing.mode, PLUGIN_CONFIG_LABEL: self.sharing.plugin_config}
        return {**super().labels, **sharing, **layout}

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        return (Taint(GPU, GPU_TAINT_VALUE), Taint(MODE_KEY, self.sharing.mode), *super().taints)

    @property
    def boot_minutes(self) -> int:
        """The longest time, in minutes, until a node takes pods: the time without GPUs, plus the time of the GPUs.

        The time of the GPUs is the time to install the driver and operands, to create the MIG layout (on Ampere GPUs,
        perhaps with a reboot), and to remove the startup taint. The kubelet can find the report of user data about the
        GPUs up to two minutes late, so the startup taint then remains longer.

        Source: k8s.io/kubernetes v1.35.4 pkg/util/goroutinemap/exponentialbackoff (maxDurationBeforeRetry)
        """
        driver = 8 if self.image.driver == "operator" else 0
        mig = (13 if self.gpu.architecture == "ampere" else 3) if self.sharing.kind == "mig" else 0
        operands = 2 if self.startup_labels else 0
        gate = 3 if self.reports_gpus else 1
        return super().boot_minutes + driver + mig + operands + gate
