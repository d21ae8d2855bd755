"""EC2 instance types by family, with the properties from which the labels and devices of their nodes follow."""

from msgspec import Struct

from gpuc.catalog.records import InstanceType, Sources


class Ec2Family(Struct, frozen=True):
    """A family of EC2 instance types, for example p5.

    Most fields are tuples with a number for each size in `sizes`. A tuple has only one number if the number is the same
    for all sizes. A tuple is empty if the sizes have no such number.
    """

    family: str
    arch: str
    cpu_manufacturer: str
    sizes: tuple[str, ...]
    vcpu: tuple[int, ...]
    memory_mib: tuple[int, ...]
    pods: tuple[int, ...]
    """Maximum number of pods of the kubelet, without prefix delegation."""
    source: Sources
    mhz: tuple[int, ...] = ()
    """Sustained clock speed."""
    ebs_mbps: tuple[int, ...] = ()
    network_mbps: tuple[int, ...] = ()
    nvme_gb: tuple[int, ...] = ()
    """Size of the instance store in decimal gigabytes; 0 if there is none."""
    efa: tuple[int, ...] = ()
    """Number of EFA devices."""
    pod_eni: tuple[int, ...] = ()
    """Number of branch network interfaces (vpc.amazonaws.com/pod-eni)."""
    gpu: str = ""
    """Value of karpenter.k8s.aws/instance-gpu-name; empty without a GPU."""
    gpu_manufacturer: str = ""
    gpu_count: tuple[int, ...] = ()
    gpu_memory_mib: tuple[int, ...] = ()
    accelerator: str = ""
    """Value of karpenter.k8s.aws/instance-accelerator-name; empty without an accelerator."""
    accelerator_manufacturer: str = ""
    accelerator_count: tuple[int, ...] = ()
    neuron_cores: tuple[int, ...] = ()
    is_xen: bool = False
    """Whether the hypervisor is Xen instead of Nitro. Metal sizes have no hypervisor."""
    is_encrypted: bool = False
    """Whether the network encrypts in transit."""

    def number(self, values: tuple[int, ...], size: str) -> int:
        """Returns the value of a field such as `efa` for one size of the family; 0 if the field is empty."""
        if len(values) <= 1:
            return values[0] if values else 0
        return values[self.sizes.index(size)]

    def instance(self, size: str) -> InstanceType:
        """Returns the instance type of the family with this size, such as p5.48xlarge. Only NVIDIA GPUs count as GPUs.

        The function sets the number of network cards to the number of EFA devices, because every card of a type with
        several cards has one EFA device. The only exception, p6-b300, is in instances.json.

        Source: aws/karpenter-provider-aws v1.14.1 pkg/providers/instancetype/zz_generated.vpclimits.go
        """
        has_nvidia, efa = self.gpu_manufacturer == "nvidia", self.number(self.efa, size)
        return InstanceType(
            type=f"{self.family}.{size}",
            family=self.family,
            arch="arm64" if self.arch == "arm64" else "amd64",
            vcpu=self.number(self.vcpu, size),
            memory_mib=self.number(self.memory_mib, size),
            pods=self.number(self.pods, size),
            source=self.source,
            gpu_count=self.number(self.gpu_count, size) if has_nvidia else 0,
            local_nvme_gb=self.number(self.nvme_gb, size),
            network_cards=max(1, efa),
            efa=efa,
        )

    def devices(self, size: str) -> dict[str, int]:
        """Returns the number of devices of a node by resource name, without NVIDIA GPUs and EFA devices.

        Source: aws/karpenter-provider-aws v1.14.1 pkg/providers/instancetype/types.go, computeCapacity
        """
        gpus, accelerators = self.number(self.gpu_count, size), self.number(self.accelerator_count, size)
        counts = {
            "amd.com/gpu": gpus if self.gpu_manufacturer == "amd" else 0,
            "habana.ai/gaudi": gpus if self.gpu_manufacturer == "habana" else 0,
            "aws.amazon.com/neuron": accelerators if self.accelerator_manufacturer == "aws" else 0,
            "aws.amazon.com/neuroncore": self.number(self.neuron_cores, size),
            "vpc.amazonaws.com/pod-eni": self.number(self.pod_eni, size),
        }
        return {name: count for name, count in counts.items() if count}


class UnpublishedTypes(Struct, frozen=True):
    """EC2 instance types of one family that Karpenter knows, but whose properties its documentation does not list."""

    family: str
    sizes: tuple[str, ...]
    source: Sources
