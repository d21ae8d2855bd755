"""Impacts of a change on the configuration of Kueue."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gpuc.components.kueue.component import CONFIGURATION
from gpuc.kubernetes.duration import parse_duration
from gpuc.model.names import TENANT_KEY
from gpuc.objects.embedded import document
from gpuc.objects.object_set import dig
from gpuc.parts.workload_kinds import pod_frameworks
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Raised, impact

FRAMEWORKS = ("integrations", "frameworks")
"""The path of the kinds of jobs in the configuration."""


class ConfigurationChange(NamedTuple):
    """The configuration of Kueue before and after a change."""

    pair: Pair
    """The Helm values of Kueue."""
    before: Any
    after: Any

    def raised(self, message: str, *path: str, details: Iterable[str] = ()) -> Raised:
        """Returns an impact with this message, at the path of the changed field in Kueue's configuration."""
        return self.pair.raised(message, (*CONFIGURATION, *path), details)

    def frameworks(self, *, added: bool) -> list[str]:
        """Returns the kinds of jobs that Kueue manages only after the change (`added`) or only before the change."""
        before, after = (value or () for value in self.values(*FRAMEWORKS))
        some, others = (after, before) if added else (before, after)
        return [name for name in some if name not in others]

    def values(self, *path: str) -> tuple[Any, Any]:
        """Returns the values at a path before and after the change; None for a path that does not exist."""
        return dig(self.before, *path), dig(self.after, *path)


def configuration_changes(change: Change) -> Iterator[ConfigurationChange]:
    """Yields the changed configuration of Kueue. Yields nothing if Kueue is new or removed, or nothing has changed."""
    pair = change.values_of("kueue")
    if pair and pair.changes(*CONFIGURATION):
        texts = zip((change.before, change.after), pair.values(*CONFIGURATION), strict=True)
        before, after = (document(state.objects, text) for state, text in texts)
        if before and after and before != after:
            yield ConfigurationChange(pair, before, after)


@impact("IMP239", Level.DISRUPTS)
def kueue_added(change: Change) -> Impacts:
    """The cluster gets Kueue while tenants already run workloads."""
    pair, namespaces = change.values_of("kueue"), change.before.objects.of("", "Namespace")
    if pair and pair.is_added and any(TENANT_KEY in namespace.labels for namespace in namespaces):
        configuration = document(change.after.objects, pair.values(*CONFIGURATION)[1])
        names = ", ".join(str(name) for name in dig(configuration, *FRAMEWORKS) or ())
        message = f"Kueue starts to manage {names}: it suspends jobs that run in the namespaces of tenants"
        details = ("a job starts again when a queue has quota for it; set kueue.x-k8s.io/queue-name before the change",)
        raised = pair.raised(message, (), details)
        yield raised._replace(manifest=None, path=("spec", "queues")) if change.after.source else raised


@impact("IMP234", Level.DISRUPTS)
def framework_added(change: Change) -> Impacts:
    """Kueue manages another kind of jobs."""
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


@impact("IMP233", Level.DISRUPTS)
def framework_removed(change: Change) -> Impacts:
    """Kueue does not manage a kind of jobs any more."""
    for found in configuration_changes(change):
        if removed := found.frameworks(added=False):
            message = f"Kueue does not manage {', '.join(removed)} any more: jobs that wait are never started"
            details = (
                "jobs that run continue, and their Workloads hold quota until the jobs are deleted",
                "new jobs of these kinds start at once and without quota, if no policy and no role refuses them",
            )
            yield found.raised(message, *FRAMEWORKS, details=details)


@impact("IMP236", Level.RESTRICTS)
def start_attempts_shrink(change: Change) -> Impacts:
    """Kueue tries fewer times to start a workload."""
    path = "waitForPodsReady", "requeuingStrategy", "backoffLimitCount"
    for found in configuration_changes(change):
        before, after = found.values(*path)
        if isinstance(before, int) and isinstance(after, int) and after < before:
            message = f"Kueue deactivates a workload after {after + 1} instead of {before + 1} failed starts"
            yield found.raised(message, *path)


@impact("IMP235", Level.DISRUPTS)
def start_timeout_shrinks(change: Change) -> Impacts:
    """Kueue waits for a shorter time until all pods of a workload are ready."""
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
