"""How containers share the GPUs of a pool, and which resources the nodes advertise for the GPUs."""

from collections.abc import Mapping
from functools import cached_property
from typing import Literal

from msgspec import Struct

from gpuc.kubernetes.amounts import total
from gpuc.model.names import GPU, SHARED_GPU, mig_resource
from gpuc.objects.object_set import grouped
from gpuc.spec.sharing import Mig

Layout = tuple[tuple[str, int], ...]
"""MIG instances of one GPU by profile, sorted by profile. Empty for a GPU that is not partitioned."""
Mode = Literal["exclusive", "mig", "shared"]
Kind = Literal["exclusive", "mig", "timeSlicing", "mps"]


class Sharing(Struct, frozen=True, dict=True):
    """A mode of GPU sharing (exclusive, MIG, time-slicing or MPS) with its parameters."""

    kind: Kind
    replicas: int = 1
    """GPU shares per GPU; 1 if GPUs are not shared."""
    strategy: Literal["none", "single", "mixed"] = "none"
    """MIG strategy of the device plugin."""
    layouts: tuple[Layout, ...] = ()
    """The layout of each GPU of a node, by GPU number; empty for a GPU that is not partitioned. Only with MIG."""

    @property
    def mode(self) -> Mode:
        """The name of the mode in taints and labels. Time-slicing and MPS have the same name, `shared`."""
        return "shared" if self.kind == "timeSlicing" or self.kind == "mps" else self.kind

    @property
    def plugin_config(self) -> str:
        """The name of the configuration that NVIDIA's device plugin uses on the nodes, for example mps-8."""
        names = {
            "timeSlicing": f"time-slicing-{self.replicas}",
            "mps": f"mps-{self.replicas}",
            "mig": f"mig-{self.strategy}",
        }
        return names.get(self.kind, self.kind)

    def gpu_resources(self, gpu_count: int) -> dict[str, int]:
        """Returns the GPU resources that a node with this number of GPUs advertises.

        Source: NVIDIA/k8s-device-plugin v0.20.0, internal/rm/rm.go
        """
        if self.kind == "exclusive":
            return {GPU: gpu_count}
        if self.kind != "mig":
            return {SHARED_GPU: gpu_count * self.replicas}
        # With different layouts, all nodes have the same number of GPUs. Otherwise all GPUs have the same layout.
        layouts = self.layouts if len(self.layouts) == gpu_count else self.layouts[:1] * gpu_count
        slices = ({self.resource(profile): count} for layout in layouts for profile, count in layout)
        whole = ({GPU: 1} for layout in layouts if not layout)
        return dict(sorted(total([*slices, *whole]).items()))

    def slices(self) -> dict[str, int]:
        """Returns how many MIG instances of each profile a node has."""
        return dict(sorted(total(map(dict, self.layouts)).items()))

    def resource(self, profile: str) -> str:
        """Returns the name of the resource under which nodes advertise MIG instances of a profile."""
        return GPU if self.strategy == "single" else mig_resource(profile)

    @cached_property
    def gpus_by_layout(self) -> dict[Layout, list[int]]:
        """The numbers that identify the GPUs of a node with the same layout, such as [0, 1], by layout."""
        return grouped(range(len(self.layouts)), self.layouts.__getitem__)

    @property
    def whole_gpus(self) -> int:
        """The number of GPUs without partitions on a node with MIG."""
        return sum(not layout for layout in self.layouts)


class LayoutError(ValueError):
    """The spec gives a GPU of a node no layout or several layouts."""

    def __init__(self, message: str, *path: str | int) -> None:
        super().__init__(message)
        self.path = path
        """Path of the wrong field below `mig`, for example ("gpus", 1)."""


def layouts_by_gpu(mig: Mig, gpu_count: int) -> tuple[Layout, ...]:
    """Returns the layout of each GPU of a node. The position in the result is the GPU number.

    Raises:
        LayoutError: when the spec gives a GPU no layout or several layouts.
    """
    if mig.every is not None:
        return (_frozen(mig.every),) * gpu_count
    layouts: dict[int, Layout] = {}
    for number, group in enumerate(mig.gpus or []):
        for index in group.index:
            if index in layouts:
                raise LayoutError(f"GPU {index} is in two layouts", "gpus", number)
            if index >= gpu_count:
                raise LayoutError(f"GPU {index} does not exist; a node has GPUs 0 to {gpu_count - 1}", "gpus", number)
            layouts[index] = _frozen(group.layout or {})
    if without_layout := [index for index in range(gpu_count) if index not in layouts]:
        raise LayoutError(
            f"GPU {', '.join(map(str, without_layout))} has no layout; write layout or whole: true", "gpus"
        )
    return tuple(layouts[index] for index in range(gpu_count))


def _frozen(layout: Mapping[str, int]) -> Layout:
    return tuple(sorted(layout.items()))
