"""Predicts what a changed ClusterPolicy, NVIDIADriver or Helm value does to the NVIDIA driver of running nodes.

The DaemonSets of the driver have the update strategy OnDelete, so only the upgrade controller replaces driver pods.
With autoUpgrade, it takes each node whose driver pod is older than the DaemonSet through these states: it cordons the
node, waits for pods, evicts pods with GPUs, drains the node if that fails and the policy allows it, and restarts the
driver pod.

Source: NVIDIA/gpu-operator v26.7.0 controllers/upgrade_controller.go (Reconcile), cmd/gpu-operator/main.go
(gpuPodSpecFilter), api/nvidia/v1alpha1/nvidiadriver_types.go (GetUpgradePolicyWithDefaults), and in
vendor/github.com/NVIDIA/k8s-operator-libs/pkg/upgrade: upgrade_state.go (ApplyState), upgrade_inplace.go,
common_manager.go (GetUpgradesAvailable), pod_manager.go (SchedulePodEviction), drain_manager.go
"""

from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache, partial
from typing import Any

from msgspec import Struct

from gpuc.components.gpu_operator.chart_driver import ChartDriver, chart_driver, driver_sections, with_policy
from gpuc.diagnostics.finding import Path
from gpuc.lint.load.chart_installs import CHART_KINDS
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import dig, pairs
from gpuc.parts.folders import table_beside
from gpuc.plan.change import Change, Pair
from gpuc.plan.differences import FieldChange, differences, leaves

_POLICY = ("driver", "upgradePolicy")
_FIELDS = {tuple(path.split(".")): kind for kind, paths in table_beside(__file__)["fields"].items() for path in paths}


class DriverChange(Struct, frozen=True, eq=False, dict=True):
    """The settings of the NVIDIA driver before and after a change."""

    pair: Pair
    before: Body
    """Sections of a ClusterPolicy, with the defaults of the chart or of an NVIDIADriver."""
    after: Body
    place: Callable[[Path], Path]
    """Returns the path in the object for the path of a field in the sections."""

    def values(self, *path: str) -> tuple[Any, Any]:
        """Returns the values at a path of the settings, before and after the change."""
        return dig(self.before, *path), dig(self.after, *path)

    @property
    def is_enabled(self) -> tuple[bool, bool]:
        """Whether the operator installs the driver: one value before and one after the change."""
        before, after = self.values("driver", "enabled")
        return before is not False, after is not False

    @property
    def is_automatic(self) -> tuple[bool, bool]:
        """Whether the operator upgrades the driver of running nodes: one value before and one after the change."""
        switches, sandboxes = self.values(*_POLICY, "autoUpgrade"), self.values("sandboxWorkloads", "enabled")
        before, after = (on is True and off is not True for on, off in zip(switches, sandboxes, strict=True))
        return before, after

    @property
    def is_upgraded(self) -> bool:
        """Whether the operator upgrades the driver of at least one running node after the change."""
        return all(self.is_enabled) and self.is_automatic[1] and bool(self.pace)

    @cached_property
    def _fields(self) -> list[FieldChange]:
        return [leaf for field in differences(self.before, self.after) for leaf in leaves(field)]

    def changed(self, kind: str) -> list[Path]:
        """Returns the paths of the changed settings that have one kind of effect.

        Args:
            kind: "install" for settings of which driver is installed, "restart" for other settings of driver pods,
                "policy" for settings of how the operator upgrades nodes.
        """
        return [field.path for field in self._fields if self._kind(field.path) == kind]

    def _kind(self, path: Path) -> str:
        if path[0] in ("gds", "gdrcopy") and True not in self.values(str(path[0]), "enabled"):
            return "none"
        found = (_FIELDS[path[:length]] for length in range(len(path), 0, -1) if path[:length] in _FIELDS)
        return next(found, "install")

    @property
    def what(self) -> str:
        """A text about the change: the versions before and after the change, or otherwise the first changed field."""
        before, after = self.values("driver", "version")
        if before != after:
            return f" {before or 'default'} -> {after or 'default'}"
        return f" ({'.'.join(map(str, self.changed('install')[0]))})" if self.changed("install") else ""

    @cached_property
    def _policy(self) -> Body:
        return dict(pairs(dig(self.after, *_POLICY)))

    @property
    def pace(self) -> str:
        """A text about how many nodes the operator upgrades at the same time; empty if it upgrades none.

        The operator counts nodes that are cordoned or not ready as unavailable.
        """
        most, share = self._policy.get("maxParallelUpgrades"), self._policy.get("maxUnavailable")
        count, share = most if isinstance(most, int) and most >= 0 else 1, "25%" if share is None else share
        if isinstance(share, int):
            at_once = min(count, share) if count else share
            return "" if share <= 0 else "one at a time" if at_once == 1 else f"{at_once} at a time"
        if not str(share).endswith("%") or not str(share)[:-1].strip("0").isdecimal():
            return ""
        if count == 1:
            return "one at a time"
        return f"{count} at a time, at most {share} of them" if count else f"up to {share} of them at a time"

    @property
    def can_evict(self) -> bool:
        """Whether an upgrade can evict pods with GPUs. Without `podDeletion`, pods with GPUs stop an upgrade."""
        return isinstance(self._policy.get("podDeletion"), dict)

    def steps(self) -> Iterator[str]:
        """Yields sentences, for the report of `gpuc plan`, about what an upgrade does to the pods of a node."""
        waits, timeout = (dig(self._policy, "waitForCompletion", key) for key in ("podSelector", "timeoutSeconds"))
        if waits:
            limit = f"for at most {timeout} s" if timeout else "without a limit"
            yield f"the operator first waits {limit} until pods with {waits} have ended"
        if not self.can_evict:
            yield "without podDeletion in upgradePolicy the upgrade stops there, and the nodes stay cordoned"
            return
        yield (
            "evicted are the pods that request nvidia.com/gpu, a MIG slice or a claim of a GPU; PodDisruptionBudgets "
            "count, and annotations of pods against disruption do not"
        )
        blockers = {"has no controller": "force", "has an emptyDir volume": "deleteEmptyDir"}
        words = [text for text, key in blockers.items() if dig(self._policy, "podDeletion", key) is not True]
        if limit := dig(self._policy, "podDeletion", "timeoutSeconds"):
            words.append(f"is not evicted within {limit} s")
        failed = "the upgrade of the node fails, and the node stays cordoned"
        if dig(self._policy, "drain", "enable") is True:
            failed = "the operator drains the node of all pods"
        if words:
            yield f"if such a pod {' or '.join(words)}, {failed}"
        yield "a node with the label nvidia.com/gpu-driver-upgrade.skip=true keeps its driver"


@lru_cache(maxsize=2)
def driver_changes(change: Change) -> tuple[DriverChange, ...]:
    """Returns the changed settings of each driver that an object or a chart installs before and after the change."""
    return (*_of_objects(change), *_of_charts(change))


def _of_objects(change: Change) -> Iterator[DriverChange]:
    uses_objects = False
    for pair in change.kept("nvidia.com", "ClusterPolicy"):
        uses_objects = any(value is True for value in pair.values("spec", "driver", "useNvidiaDriverCRD"))
        if pair.is_changed and not uses_objects:
            before, after = map(driver_sections, pair.values("spec"))
            yield DriverChange(pair, before, after, lambda path: ("spec", *path))
    if uses_objects or not change.after.objects.has("nvidia.com", "ClusterPolicy"):
        for pair in change.kept("nvidia.com", "NVIDIADriver"):
            before, after = ({"driver": with_policy(spec)} for spec in pair.values("spec"))
            if pair.is_changed:
                yield DriverChange(pair, before, after, lambda path: ("spec", *path[1:]))


def _of_charts(change: Change) -> Iterator[DriverChange]:
    # The values of a spec of gpuc install no ClusterPolicy. A HelmRelease can have values in ConfigMaps.
    for api_group, kind in CHART_KINDS if change.values_of("gpu-operator") is None else ():
        for pair in change.kept(api_group, kind):
            if not (pair.is_changed or kind == "HelmRelease"):
                continue
            old, new = (chart_driver(*side) for side in ((change.before, pair.before), (change.after, pair.after)))
            if old and new and old.sections != new.sections:
                yield DriverChange(pair, old.sections, new.sections, partial(_place, old, new))


def _place(old: ChartDriver, new: ChartDriver, path: Path) -> Path:
    return new.place(path) or old.place(path) or new.version_path
