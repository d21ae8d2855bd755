"""A workload that a mutation changes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from gpuc.kubernetes.kueue import QUEUE_LABEL
from gpuc.model import Cluster
from gpuc_rehearsal.client import Object

if TYPE_CHECKING:
    from tests.conformance.random_workloads import Target


@dataclass(frozen=True)
class Draft:
    """A correct workload. A mutation changes the document in place."""

    document: Object
    kind: str
    cluster: Cluster
    target: "Target"
    random: Random

    @property
    def spec(self) -> Any:
        """The spec of the workload."""
        return self.document["spec"]

    @property
    def job(self) -> Any:
        """The spec of the Job, of the Jobs of a CronJob, or of the first Job of a JobSet; None for other kinds."""
        match self.kind:
            case "Job":
                return self.spec
            case "CronJob":
                return self.spec["jobTemplate"]["spec"]
            case "JobSet":
                return self.spec["replicatedJobs"][0]["template"]["spec"]
        return None

    def update_job(self, **fields: Any) -> None:
        """Sets fields of the spec of a Job; a field with the value None is removed."""
        job = self.job
        assert job is not None, f"a {self.kind} has no Job"
        job.update(fields)
        for name in [name for name, value in fields.items() if value is None]:
            del job[name]

    @property
    def workers(self) -> Any:
        """The group of workers of a RayJob."""
        return self.spec["rayClusterSpec"]["workerGroupSpecs"][0]

    @property
    def template(self) -> Any:
        """The first pod template; of a RayJob, that of the workers; a Pod itself."""
        if self.kind == "RayJob":
            return self.workers["template"]
        owner = self.job if self.job is not None else self.spec
        return self.document if self.kind == "Pod" else owner["template"]

    @property
    def pod(self) -> Any:
        """The first pod spec."""
        return self.template["spec"]

    @property
    def main(self) -> Any:
        """The first container."""
        return self.pod["containers"][0]

    @property
    def queue_labels(self) -> Any:
        """The labels from which Kueue reads the queue; None for a workload without a queue."""
        owner = self.spec["jobTemplate"] if self.kind == "CronJob" else self.document
        labels = owner["metadata"].get("labels")
        return labels if labels and QUEUE_LABEL in labels else None

    @property
    def devices(self) -> tuple[str, ...]:
        """The names of the GPU resources that the main container requests."""
        limits = self.main["resources"].get("limits", {})
        return tuple(name for name in limits if name.startswith("nvidia.com/"))

    def resources(self, name: str, value: Any) -> None:
        """Sets the request and the limit of the main container for a resource."""
        for part in ("requests", "limits"):
            self.main["resources"].setdefault(part, {})[name] = value

    def setting(self, owner: str) -> Any:
        """Returns the security context of the "pod" or of the "main" container, which a mutation changes."""
        holder = self.pod if owner == "pod" else self.main
        return holder.setdefault("securityContext", {})

    def add_volume(self, name: str, source: Object, path: str = "/mnt/extra") -> None:
        """Adds a volume and its mount in the main container."""
        self.pod.setdefault("volumes", []).append({"name": name, **source})
        self.main.setdefault("volumeMounts", []).append({"name": name, "mountPath": path})

    def add_env(self, **variable: Any) -> None:
        """Adds an environment variable to the main container."""
        self.main.setdefault("env", []).append(variable)

    def describe(self, part: str, key: str, value: Any, owner: Object | None = None) -> None:
        """Adds a label or an annotation (part: labels or annotations) to the pod template, or to another owner."""
        (self.template if owner is None else owner).setdefault("metadata", {}).setdefault(part, {})[key] = value


Mutation = Callable[[Draft], bool]
"""A function that changes a draft; it returns False, without a change, if the draft is not suitable."""


def for_all(*changes: Callable[[Draft], Any]) -> Mutation:
    """Returns a mutation that makes all changes, for all drafts."""

    def mutate(draft: Draft) -> bool:
        for change in changes:
            change(draft)
        return True

    return mutate


def where(condition: Callable[[Draft], Any], change: Callable[[Draft], Any]) -> Mutation:
    """Returns a mutation for the drafts that meet a condition."""

    def mutate(draft: Draft) -> bool:
        if not condition(draft):
            return False
        change(draft)
        return True

    return mutate


def other_pools(draft: Draft) -> Iterator[str]:
    """Yields the names of the pools that the tenant of a draft may not use."""
    own = {pool.name for pool in draft.target.tenant.pools}
    return (pool.name for pool in draft.cluster.pools if pool.name not in own)
