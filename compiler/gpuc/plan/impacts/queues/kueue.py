"""Impacts on Kueue, its configuration and its flavors."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import kind_of
from gpuc.kubernetes.duration import parse_duration
from gpuc.kubernetes.kueue import GROUP
from gpuc.model.names import TENANT_KEY
from gpuc.objects.embedded import document
from gpuc.objects.object_set import dig, grouped, items, pairs
from gpuc.parts.workload_kinds import pod_frameworks
from gpuc.plan.change import Change, Pair, changed
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact, workloads_of
from gpuc.plan.quota_changes import GPU_PREFIXES, tree

VALUES: Path = ("managerConfig", "controllerManagerConfigYaml")
"""The path of the configuration in the values of the chart.

Source: kueue v0.19.2 charts/kueue/values.yaml
"""
FRAMEWORKS = ("integrations", "frameworks")
"""The path of the kinds of jobs in the configuration."""


class ConfigurationChange(NamedTuple):
    """Two different configurations."""

    pair: Pair
    """The Helm values of Kueue."""
    before: Any
    after: Any

    def raised(self, message: str, *path: str, details: Iterable[str] = ()) -> Raised:
        """Returns an impact of the change of a field."""
        return self.pair.raised(message, (*VALUES, *path), details)

    def frameworks(self, *, added: bool) -> list[str]:
        """Returns the kinds of jobs that Kueue begins to manage, or does not manage any more."""
        before, after = (value or () for value in self.values(*FRAMEWORKS))
        some, others = (after, before) if added else (before, after)
        return [name for name in some if name not in others]

    def values(self, *path: str) -> tuple[Any, Any]:
        """Returns the values at a path before and after the change; None where the path does not exist."""
        return dig(self.before, *path), dig(self.after, *path)


def configuration_changes(change: Change) -> Iterator[ConfigurationChange]:
    """Yields the configurations of Kueue, if both states have Kueue and the configurations differ."""
    pair = change.values_of("kueue")
    if pair and pair.changes(*VALUES):
        texts = zip((change.before, change.after), pair.values(*VALUES), strict=True)
        before, after = (document(state.objects, text) for state, text in texts)
        if before and after and before != after:
            yield ConfigurationChange(pair, before, after)


@impact("IMP239", Level.DISRUPTS)
def kueue_added(change: Change) -> Impacts:
    """The cluster gets Kueue while tenants already run workloads.

    Kueue suspends jobs that run in the namespaces of tenants, and starts them when a queue has quota for them. A job
    without a queue stays suspended.

    Source: kueue v0.19.2 pkg/controller/jobframework/reconciler.go, ReconcileGenericJob and ensureOneWorkload
    """
    pair, namespaces = change.values_of("kueue"), change.before.objects.of("", "Namespace")
    if pair and pair.is_added and any(TENANT_KEY in namespace.labels for namespace in namespaces):
        configuration = document(change.after.objects, pair.values(*VALUES)[1])
        names = ", ".join(str(name) for name in dig(configuration, *FRAMEWORKS) or ())
        message = f"Kueue starts to manage {names}: it suspends jobs that run in the namespaces of tenants"
        details = ("a job starts again when a queue has quota for it; set kueue.x-k8s.io/queue-name before the change",)
        raised = pair.raised(message, (), details)
        yield raised._replace(manifest=None, path=("spec", "queues")) if change.after.source else raised


@impact("IMP234", Level.DISRUPTS)
def framework_added(change: Change) -> Impacts:
    """Kueue manages another kind of jobs.

    Kueue suspends a job that runs without a Workload, and starts it when a queue has quota for it. The pods of the job
    end. Pods, Deployments and StatefulSets that run are not disturbed: Kueue manages pods that are created from then
    on.

    Source: kueue v0.19.2 pkg/controller/jobframework/reconciler.go, ensureOneWorkload (no matching Workload);
    pkg/controller/jobs/pod/pod_webhook.go, Default
    """
    for found in configuration_changes(change):
        added = found.frameworks(added=True)
        if not added:
            continue
        pods = [name for name in added if name in pod_frameworks()]
        before, after = found.values("manageJobsWithoutQueueName")
        effect = "new pods with a queue wait until the queue has quota"
        if len(pods) < len(added):
            which = "of tenants " if after else "with a queue "
            effect = f"it suspends jobs {which}that run, until a queue has quota for them"
        details = {
            "pods that run already are not counted in a queue; Kueue counts the pods that replace them": bool(pods),
            "Kueue does not suspend jobs without a queue any more: the policy queue-required must do it": (
                before and not after
            ),
        }
        sentences = (sentence for sentence, is_true in details.items() if is_true)
        yield found.raised(f"Kueue manages {', '.join(added)}: {effect}", *FRAMEWORKS, details=sentences)


@impact("IMP233", Level.DISRUPTS, source="kueue v0.19.2 pkg/controller/jobframework/setup.go and reconciler.go")
def framework_removed(change: Change) -> Impacts:
    """Kueue does not manage a kind of jobs any more.

    No controller starts jobs of the kind that wait. Jobs that run continue, and hold their quota until they are
    deleted, because no controller finishes their Workloads. New jobs start without quota, if no policy refuses them.
    """
    for found in configuration_changes(change):
        if removed := found.frameworks(added=False):
            message = f"Kueue does not manage {', '.join(removed)} any more: jobs that wait are never started"
            details = (
                "jobs that run continue, and their Workloads hold quota until the jobs are deleted",
                "new jobs of these kinds start at once and without quota, if no policy and no role refuses them",
            )
            yield found.raised(message, *FRAMEWORKS, details=details)


@impact("IMP232", Level.DISRUPTS, source="kueue v0.19.2 pkg/scheduler/preemption/preemption.go, GetTargets")
def fair_sharing_changes(change: Change) -> Impacts:
    """Kueue starts or stops to divide idle quota by weight.

    The order in which Kueue admits the workloads of a cohort changes, and the choice of the workloads that Kueue
    preempts. With fair sharing, Kueue preempts borrowed quota of queues with a large share, also without a priority.
    """
    for found in configuration_changes(change):
        before, after = map(bool, found.values("fairSharing"))
        message = "idle quota is not divided by weight any more: the oldest workload gets it"
        if after:
            message = "idle quota is divided by weight: queues with a large share of borrowed quota can lose it"
        details = ("preemption for reclaimed quota follows the new rules as soon as Kueue has restarted",)
        if before != after:
            yield found.raised(message, "fairSharing", details=details)


@impact("IMP236", Level.RESTRICTS, source="kueue v0.19.2 pkg/controller/core/workload_controller.go")
def start_attempts_shrink(change: Change) -> Impacts:
    """Kueue tries fewer times to start a workload.

    After the last failed start, Kueue deactivates the workload. A deactivated workload waits until its owner sets
    spec.active of the Workload to true, or creates the job again.
    """
    path = "waitForPodsReady", "requeuingStrategy", "backoffLimitCount"
    for found in configuration_changes(change):
        before, after = found.values(*path)
        if isinstance(before, int) and isinstance(after, int) and after < before:
            message = f"Kueue deactivates a workload after {after + 1} instead of {before + 1} failed starts"
            yield found.raised(message, *path)


@impact("IMP235", Level.DISRUPTS, source="kueue v0.19.2 pkg/controller/core/workload_controller.go")
def start_timeout_shrinks(change: Change) -> Impacts:
    """Kueue waits for a shorter time until all pods of a workload are ready.

    Kueue evicts workloads whose pods start for longer than the new time, as soon as Kueue has restarted. An eviction
    counts as a failed start.
    """
    path = "waitForPodsReady", "timeout"
    for found in configuration_changes(change):
        before, after = found.values(*path)
        if _seconds(after) < _seconds(before):
            message = f"workloads are evicted when their pods are not ready after {after} instead of {before}"
            details = ("the time also applies to workloads that have lost a pod, and to workloads that start now",)
            yield found.raised(message, *path, details=details)


def _seconds(value: object) -> int:
    """Returns the seconds of a duration; 0 for a value that is no duration."""
    try:
        return parse_duration(value) if isinstance(value, str) else 0
    except ValueError:
        return 0


@impact("IMP225", Level.DISRUPTS)
def flavor_changes(change: Change) -> Impacts:
    """The nodes of a flavor get another label or another taint.

    Kueue writes the node labels and the tolerations of a flavor into a job when it starts the job. Jobs that run keep
    the old ones: a pod that is created again does not match or tolerate the new nodes, and stays pending.

    Source: kueue v0.19.2 pkg/podset/podset.go, FromAssignment; pkg/controller/jobframework/reconciler.go, startJob
    """
    for pair in change.pairs(GROUP, "ResourceFlavor"):
        texts = list(_flavor_texts(pair))
        if not pair.is_changed or pair.values("spec", "topologyName")[0] or not texts:
            continue
        details = (
            "pods of jobs that run have the old labels and tolerations; if such a pod is created again, for example "
            "because its node fails or expires, it stays pending",
            "Kueue evicts the workload when its pods were not ready for waitForPodsReady.recoveryTimeout, and admits "
            "it again with the new labels and tolerations",
        )
        places = (("spec", "nodeLabels"), ("spec", "tolerations"))
        paths = (field.path for place in places for field in pair.fields if field.is_below(*place))
        yield pair.raised(" and ".join(texts), next(paths, ("spec",)), details)


def _flavor_texts(pair: Pair) -> Iterator[str]:
    old, new = (value or {} for value in pair.values("spec", "nodeLabels"))
    if old != new:
        yield f"workloads select nodes with {_labels(new)} instead of {_labels(old)}"
    tolerations = [[_toleration(row) for _, row in items(rows)] for rows in pair.values("spec", "tolerations")]
    if added := [text for text in tolerations[1] if text not in tolerations[0]]:
        yield f"workloads that start tolerate {', '.join(added)}; workloads that run do not"


def _labels(value: Any) -> str:
    return ", ".join(f"{key}={label}" for key, label in pairs(value)) or "any labels"


def _toleration(row: Any) -> str:
    key, value, effect = (dig(row, field) for field in ("key", "value", "effect"))
    return f"{key or 'all taints'}{f'={value}' if value else ''}{f':{effect}' if effect else ''}"


_FIELDS = {"nodeLabels": "node labels", "tolerations": "tolerations", "topologyName": "topology"}


@impact("IMP224", Level.DISRUPTS, source="kueue v0.19.2 apis/kueue/v1beta2/resourceflavor_types.go, ResourceFlavorSpec")
def flavor_immutable(change: Change) -> Impacts:
    """A flavor with a topology changes, which the API server refuses.

    The node labels, the tolerations and the topology of a ResourceFlavor with a topology are immutable. The sync of the
    Application fails. Kueue keeps the old flavor: its workloads do not tolerate a new taint of the pool and stay
    pending on new nodes.
    """
    for pair in change.pairs(GROUP, "ResourceFlavor"):
        fields = [field for field in _FIELDS if pair.changes("spec", field)]
        if fields and pair.values("spec", "topologyName")[0]:
            names = " and ".join(_FIELDS[field] for field in fields)
            message = f"the API server refuses other {names} of its ResourceFlavor, because the flavor has a topology"
            details = (
                "Kueue goes on with the old flavor, and the sync of the Application fails until the change is reverted",
                "to make the change, add a pool under another name and let the old pool leave",
            )
            predicts = (Prediction(f"object ResourceFlavor {pair.name}", "refused"),)
            yield pair.raised(message, ("spec", fields[0]), details, predicts)


@impact("IMP240", Level.RESTRICTS)
def topology_added(change: Change) -> Impacts:
    """Kueue starts to place the workloads of a flavor by topology.

    Kueue admits only workloads whose pods fit on nodes that run and are ready, in addition to the quota. Workloads that
    run continue, and Kueue counts their pods on their nodes.

    Source: kueue v0.19.2 pkg/cache/scheduler/tas_flavor_snapshot.go, tas_non_tas_pod_cache.go
    """
    for topology in changed(change.pairs(GROUP, "ResourceFlavor"), ("spec", "topologyName")):
        if topology.after and not topology.before:
            details = (
                "workloads that run continue; the topology of the flavor cannot be changed or removed later, because "
                "the field is immutable",
            )
            effect = "it admits only pods that fit on nodes that run"
            yield topology.raised(f"Kueue places workloads by topology {topology.after}: {effect}", details)


@impact("IMP243", Level.RESTRICTS)
def resource_leaves_queue(change: Change) -> Impacts:
    """Queues no longer have a quota of a resource on any node pool, for example because their pools lose EFA.

    Kueue admits no workload that requests a resource without a quota, so these workloads wait until they are changed.
    Running workloads continue. Other impacts describe quotas of GPUs.

    Source: kueue v0.19.2 pkg/scheduler/flavorassigner/flavorassigner.go, findFlavorForPodSets
    """
    kept = change.kept(GROUP, "ClusterQueue")
    for lost, queues in grouped(kept, lambda pair: _lost_resources(change, pair.name)).items():
        if not lost:
            continue
        names = list(dict.fromkeys(pair.element for pair in queues))  # several ClusterQueues can be one queue
        resources = " or ".join(lost)
        message = f"no workload that requests {resources} is admitted any more: no pool of the queue has a quota"
        raised = queues[0].raised(message, ("spec", "resourceGroups"), (), workloads_of("queue", names, "waiting"))
        yield raised._replace(subject=kind_of(names, "queue"))


def _lost_resources(change: Change, name: str) -> tuple[str, ...]:
    """Returns the resources other than GPUs that the resource groups of a ClusterQueue do not cover any more."""
    before, after = (dict.fromkeys(tree(state)[name].covered) for state in (change.before, change.after))
    is_used = any(not name.startswith(GPU_PREFIXES) for name in after)
    return tuple(name for name in before if is_used and name not in after and not name.startswith(GPU_PREFIXES))
