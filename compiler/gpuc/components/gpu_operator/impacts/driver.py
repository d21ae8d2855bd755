"""Impacts of a change on the NVIDIA driver that the GPU Operator installs."""

from operator import attrgetter

from gpuc.components.gpu_operator.driver import driver_changes
from gpuc.objects.object_set import pairs
from gpuc.plan.change import Change, changed
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.pruning import is_left


@impact("IMP144", Level.DISRUPTS)
def driver_upgrades(change: Change) -> Impacts:
    """The GPU Operator upgrades the driver of running nodes, and evicts their pods with GPUs."""
    for driver in filter(attrgetter("is_upgraded"), driver_changes(change)):
        fields = driver.changed("install")
        begins = not driver.is_automatic[0]
        if not (fields or begins):
            continue
        nodes = "running nodes" if fields else "running nodes with an older driver pod"
        steps = "evicts its pods with GPUs and restarts its driver pod" if driver.can_evict else "stops"
        message = (
            f"the GPU Operator upgrades the driver{driver.what} of {nodes}, {driver.pace}: it cordons a node, {steps}"
        )
        path = fields[0] if fields else ("driver", "upgradePolicy", "autoUpgrade")
        sentences = [*driver.steps()]
        if fields and begins:
            sentences.append("automatic upgrades begin with this change; until now, nodes kept their driver")
        yield driver.pair.raised(message, driver.place(path), sentences)


@impact("IMP145", Level.RESTRICTS)
def driver_pods_restart(change: Change) -> Impacts:
    """The GPU Operator cordons running nodes and restarts their driver pods, and their pods keep running."""
    for driver in filter(attrgetter("is_upgraded"), driver_changes(change)):
        fields = driver.changed("restart")
        if fields and not driver.changed("install") and driver.is_automatic[0]:
            message = f"the GPU Operator cordons running nodes, {driver.pace}, and restarts their driver pods"
            sentences = ("pods with GPUs keep running; the node takes no new pods until its driver pod is ready",)
            yield driver.pair.raised(message, driver.place(fields[0]), sentences)


@impact("IMP142", Level.NONE)
def driver_keeps(change: Change) -> Impacts:
    """The driver settings of the GPU Operator change, but running nodes keep their driver."""
    pools = change.after.cluster.pools if change.after.cluster else ()
    exist = pools and all(pool.scaling is None for pool in pools)
    kept = f"running nodes keep their driver until {'their driver pod is deleted' if exist else 'they are replaced'}"
    for driver in driver_changes(change):
        was_enabled, is_enabled = driver.is_enabled
        policy, restart = driver.changed("policy"), driver.changed("restart")
        fields = [*driver.changed("install"), *(path for path in restart if path[0] == "driver")]
        path = driver.place((*fields, *policy, _ENABLED)[0])
        if is_enabled and not was_enabled:
            starts = "the GPU Operator starts driver pods on the GPU nodes"
            yield driver.pair.raised(starts, driver.place(_ENABLED))
        elif is_enabled and fields and not driver.is_upgraded:
            paused = "; maxUnavailable allows no upgrade" if driver.is_automatic[1] else ""
            yield driver.pair.raised(f"new nodes get the new driver{driver.what}; {kept}{paused}", path)
        elif is_enabled and driver.is_automatic == (True, False):
            cordoned = ("a node in the middle of an upgrade stays cordoned",)
            yield driver.pair.raised(f"automatic upgrades of the driver end; {kept}", path, cordoned)
        elif is_enabled and policy and not fields and driver.is_automatic == (True, True):
            pace = driver.pace or "no node at all"
            yield driver.pair.raised(f"later upgrades of the driver: {pace}", path, driver.steps())
    for switch in changed(change.pairs(_GROUP, "ClusterPolicy"), _BY_OBJECTS):
        if switch.after is True and not change.after.objects.has(_GROUP, "NVIDIADriver"):
            yield switch.raised("no NVIDIADriver exists: new nodes get no driver; driver pods that run stay")


_GROUP, _ENABLED, _BY_OBJECTS = "nvidia.com", ("driver", "enabled"), ("spec", "driver", "useNvidiaDriverCRD")


@impact("IMP143", Level.DISRUPTS)
def driver_pods_deleted(change: Change) -> Impacts:
    """The GPU Operator no longer installs the driver on some or all nodes, and their driver pods end at once."""
    details = (
        "a driver pod that ends stops the persistence daemon and the fabric manager of its node, and unloads the "
        "driver if no program uses it",
    )
    for driver in driver_changes(change):
        if driver.is_enabled == (True, False):
            message = "the GPU Operator deletes the driver pods of all nodes at once"
            yield driver.pair.raised(message, driver.place(_ENABLED), details)
    policies = list(change.pairs(_GROUP, "ClusterPolicy"))
    by_object = not policies or any(pair.values(*_BY_OBJECTS)[0] is True for pair in policies)
    for pair in (*policies, *(change.pairs(_GROUP, "NVIDIADriver") if by_object else ())):
        old, new = (list(pairs(value)) for value in pair.values("spec", "nodeSelector"))
        if pair.is_removed and not is_left(change, pair.manifest):
            message = f"the removal of the {pair.manifest.kind} deletes all its DaemonSets and their pods at once"
            yield pair.raised(message, (), details)
        elif pair.before and any(label not in old for label in new):
            message = "the driver pods of nodes that nodeSelector no longer selects are deleted at once"
            yield pair.raised(message, ("spec", "nodeSelector"), details)
