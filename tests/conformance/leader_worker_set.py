"""Checks that the real Kueue counts LeaderWorkerSets, with the real controller of LeaderWorkerSets.

`make conformance-all` runs this module after `gpuc tools --lws`. The test does not run if the controller is missing.
"""

import json
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from gpuc.kubernetes.controllers import user
from gpuc.kubernetes.kueue import GATE, KUEUE_API, QUEUE_LABEL
from gpuc.model import ClusterQueue, Pool
from gpuc.model.names import POOL_LABEL
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.apply import apply_objects
from gpuc_rehearsal.client import ApiError, Client, Object, condition
from gpuc_rehearsal.context import NODE, RehearsalContext, Timeouts
from gpuc_rehearsal.expectation import expect
from gpuc_rehearsal.outcome import Request, classify_response
from gpuc_rehearsal.programs import Programs
from gpuc_rehearsal.sample_workloads import WorkloadFactory, distinct_factories
from gpuc_rehearsal.substitute import replacement_objects
from tests.conformance.check_result import CheckResult, print_progress
from tests.conformance.local_controllers import CONTROLLERS, with_controller
from tests.conformance.shared_plane import compiled, shared_control_plane
from tests.pipeline.memory import source
from tests.values import changed

EXAMPLE, QUEUE, POOL = "infer-euw1", "retrieval", "models-a100"
API, KIND = "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"
FRAMEWORK = "leaderworkerset.x-k8s.io/leaderworkerset"
FRAMEWORKS = ("spec", "kueue", "frameworks")
NAME_LABEL = "leaderworkerset.sigs.k8s.io/name"
"""The label of every pod of a LeaderWorkerSet."""
CONTROLLER = CONTROLLERS["lws"]
WORKERS = 2
MAX_PODS = 64
"""The quota of the queue is smaller."""
SECONDS = 180
"""Maximum duration of a step on a busy machine."""
HELD_SECONDS = 10
"""For how long a LeaderWorkerSet that Kueue does not admit is observed."""
STATEFUL_SET_CONTROLLER = user("kube-system/statefulset-controller")
"""The user that creates the pods of a LeaderWorkerSet, which consists of StatefulSets."""


@dataclass(frozen=True)
class Plane:
    """The rehearsed cluster, and the queue and the pool of the LeaderWorkerSets."""

    context: RehearsalContext
    factory: WorkloadFactory
    queue: ClusterQueue
    pool: Pool

    @cached_property
    def slices(self) -> tuple[str, str]:
        """The resources of a leader and of a worker: a large and a small slice."""
        return self.pool.gpu_resource_names[-1], self.pool.gpu_resource_names[0]

    @cached_property
    def limit(self) -> int:
        """The maximum number of pods with one small slice, with the quota that the queue borrows."""
        sizes = range(1, MAX_PODS)
        return max(size for size in sizes if self._is_admitted(size))

    @property
    def nominal(self) -> int:
        """The nominal quota of the queue for small slices."""
        (quota,) = [quota for quota in self.queue.pool_quotas if quota.pool is self.pool]
        return quota.nominal[self.slices[1]]

    def _is_admitted(self, pods: int) -> bool:
        request = Request({self.slices[1]: 1}, pods, self.pool.name)
        return expect(self.context.spec, self.queue, request).verdict == "admitted"

    def group(self, name: str, leader: str, workers: int, queue: str = "") -> Object:
        """Returns a LeaderWorkerSet with one group: a leader with one slice, and workers with one small slice."""
        metadata = self.factory.metadata(name)
        if queue:
            metadata["labels"] = {QUEUE_LABEL: queue}
        templates = {
            "leaderTemplate": self._template(name, leader),
            "size": workers + 1,
            "workerTemplate": self._template(name, self.slices[1]),
        }
        spec = {"replicas": 1, "leaderWorkerTemplate": templates}
        return {"apiVersion": API, "kind": KIND, "metadata": metadata, "spec": spec}

    def _template(self, name: str, resource: str) -> Object:
        spec = self.factory.pod(name, self.pool, {resource: 1})["spec"]
        return {"spec": {**spec, "restartPolicy": "Always"}}

    def pods(self, document: Object) -> list[Object]:
        """Returns the pods of a LeaderWorkerSet."""
        metadata = document["metadata"]
        return self.context.client.list_all("v1", "Pod", metadata["namespace"], f"{NAME_LABEL}={metadata['name']}")

    def workloads(self, created: Object) -> list[Object]:
        """Returns the Workloads of a LeaderWorkerSet."""
        uid = created["metadata"]["uid"]
        found = self.context.client.list_all(KUEUE_API, "Workload", created["metadata"]["namespace"])
        return [row for row in found if uid in {owner["uid"] for owner in row["metadata"].get("ownerReferences", ())}]

    def usage(self) -> dict[str, int]:
        """Returns the used slices of the pool, as the ClusterQueue reports them."""
        status = self.context.client.get(KUEUE_API, "ClusterQueue", self.queue.name).get("status", {})
        return {
            resource["name"]: int(resource["total"])
            for flavor in status.get("flavorsUsage", ())
            if flavor["name"] == self.pool.name
            for resource in flavor["resources"]
            if resource["name"] in self.pool.gpu_resource_names and resource["total"] != "0"
        }

    def remove(self, document: Object) -> None:
        """Deletes a LeaderWorkerSet, and waits until its pods and their usage are gone."""
        metadata = document["metadata"]
        self.context.client.delete(API, KIND, metadata["name"], metadata["namespace"])
        self.context.until(f"deletion of the pods of {metadata['name']}", lambda: not self.pods(document), SECONDS)
        self.context.until("a ClusterQueue without usage", lambda: not self.usage(), SECONDS)


@dataclass
class Problems:
    """Collects what differs from the expectation."""

    lines: list[str] = field(default_factory=list)

    def unless(self, is_good: bool, problem: str) -> None:
        """Adds a problem if the condition is false."""
        if not is_good:
            self.lines.append(problem)

    def text(self) -> str:
        return "; ".join(self.lines)


def checks(lws: Programs, progress: Callable[[str], None]) -> Iterator[CheckResult]:
    """Starts a control plane with Kueue, Gatekeeper and the controller of LeaderWorkerSets, and yields the results."""
    spec = variant()
    with shared_control_plane(spec, progress, CONTROLLER.crds(lws)) as plane:
        process = CONTROLLER.start(plane.plane.site, plane.client, lws)
        applied = apply_objects(plane.client, spec.synced, replacement_objects(spec.cluster), progress, SECONDS)
        process.wait_ready(SECONDS)
        problems = [*applied.refusals, *applied.unhealthy]
        yield CheckResult(f"the API server accepts {EXAMPLE} with LeaderWorkerSets", "; ".join(map(str, problems)))
        context = RehearsalContext(spec, plane.client, Timeouts(SECONDS, SECONDS, SECONDS, SECONDS))
        subject = _subject(context)
        for name, check in CHECKS.items():
            try:
                problem = check(subject)
            except Exception:
                problem = traceback.format_exc()
            yield CheckResult(name, problem)
            progress(f"usage of {QUEUE}: {subject.usage() or 'none'}")


def variant() -> CompiledSpec:
    """Returns the example in which Kueue also manages LeaderWorkerSets."""
    tree = source(EXAMPLE).tree
    return compiled(changed(tree, FRAMEWORKS, [*tree["spec"]["kueue"]["frameworks"], FRAMEWORK]), EXAMPLE)


def _subject(context: RehearsalContext) -> Plane:
    (factory, queue) = next(
        (factory, queue)
        for factory in distinct_factories(context.cluster)
        for owner in factory.namespace.queues
        for queue in owner.cluster_queues
        if queue.name == QUEUE
    )
    return Plane(context, factory, queue, next(pool for pool in queue.pools if pool.name == POOL))


def _is_counted(plane: Plane) -> str:
    """Runs a leader and two workers, and compares Workloads, pods and usage with the request."""
    problems, large, small = Problems(), *plane.slices
    created = plane.context.client.create(plane.group("served", large, WORKERS, QUEUE))
    _wait_ready(plane, created, WORKERS + 1)
    workloads = plane.workloads(created)
    counts = [{part["name"]: part["count"] for part in row["spec"]["podSets"]} for row in workloads]
    problems.unless(counts == [{"leader": 1, "worker": WORKERS}], f"Workloads with the pods {counts}")
    flavors = {
        flavor
        for row in workloads
        for part in row["status"]["admission"]["podSetAssignments"]
        for flavor in part["flavors"].values()
    }
    problems.unless(flavors == {POOL}, f"flavors {flavors}")
    nodes = {node["metadata"]["name"] for node in plane.context.client.list_all(*NODE, labels=f"{POOL_LABEL}={POOL}")}
    on = {pod["spec"]["nodeName"] for pod in plane.pods(created)}
    problems.unless(on <= nodes, f"nodes {on} outside of the pool")
    expected = {large: 1, small: WORKERS}
    problems.unless(plane.usage() == expected, f"usage {plane.usage()}, expected {expected}")
    plane.remove(created)
    return problems.text()


def _gets_its_limit(plane: Plane) -> str:
    """Runs a group that uses the nominal quota and all that the queue can borrow."""
    problems, small = Problems(), plane.slices[1]
    problems.unless(plane.limit > plane.nominal, f"the queue borrows nothing: {plane.limit}, nominal {plane.nominal}")
    created = plane.context.client.create(plane.group("largest", small, plane.limit - 1, QUEUE))
    _wait_ready(plane, created, plane.limit)
    problems.unless(plane.usage() == {small: plane.limit}, f"usage {plane.usage()}, expected {plane.limit} {small}")
    plane.remove(created)
    return problems.text()


def _is_held(plane: Plane) -> str:
    """Creates a group with one pod more than the limit, and checks that all its pods keep Kueue's gate."""
    problems = Problems()
    created = plane.context.client.create(plane.group("larger", plane.slices[1], plane.limit, QUEUE))

    def is_refused() -> bool:
        rows = plane.workloads(created)
        return bool(rows) and all(condition(row, "QuotaReserved").get("status") == "False" for row in rows)

    plane.context.until("a Workload that Kueue does not admit", is_refused, SECONDS)
    plane.context.until("a pod of the LeaderWorkerSet", lambda: bool(plane.pods(created)), SECONDS)
    _hold(plane, created, problems)
    (workload,) = plane.workloads(created)
    message = condition(workload, "QuotaReserved").get("message", "")
    problems.unless("insufficient" in message or "maximum" in message, f"Kueue's message: {message}")
    problems.unless(not plane.usage(), f"usage {plane.usage()}")
    plane.remove(created)
    return problems.text()


def _hold(plane: Plane, created: Object, problems: Problems) -> None:
    """Checks for some seconds that all pods of a LeaderWorkerSet keep Kueue's gate, and that no pod gets a node."""
    deadline = time.monotonic() + HELD_SECONDS
    while time.monotonic() < deadline and not problems.lines:
        for pod in plane.pods(created):
            name, gates = pod["metadata"]["name"], pod["spec"].get("schedulingGates", ())
            problems.unless({"name": GATE} in gates, f"pod {name} has no gate")
            problems.unless(not pod["spec"].get("nodeName"), f"pod {name} has a node")
        time.sleep(0.5)


def _keeps_its_pods(plane: Plane) -> str:
    """Deletes a LeaderWorkerSet that Kueue does not admit, without its pods. A policy must refuse this."""
    problems, client = Problems(), plane.context.client
    created = client.create(plane.group("orphaned", plane.slices[1], plane.limit, QUEUE))
    plane.context.until("two pods of the LeaderWorkerSet", lambda: len(plane.pods(created)) > 1, SECONDS)
    path = client.path(API, KIND, created["metadata"]["namespace"], created["metadata"]["name"])
    options = json.dumps({"propagationPolicy": "Orphan"}).encode()
    try:
        client.send("DELETE", path, options, "application/json")
        problems.lines.append("the API server deletes it")
    except ApiError as error:
        problems.unless("leaves the pods of a workload" in error.message, error.message)
    _hold(plane, created, problems)
    plane.remove(created)
    return problems.text()


def _forged_pod_is_held(plane: Plane) -> str:
    """Creates a pod with the labels of a LeaderWorkerSet that does not exist.

    A policy must refuse the pod of a member. The same pod of a StatefulSet must not start.
    """
    problems, pod = Problems(), plane.factory.pod("forged-0", plane.pool, {plane.slices[0]: 1})
    pod["metadata"]["labels"] = {NAME_LABEL: "rehearsal-absent", "leaderworkerset.sigs.k8s.io/worker-index": "0"}
    suspended = {"kueue.x-k8s.io/pod-suspending-parent": FRAMEWORK}
    pod["metadata"]["annotations"] = {"leaderworkerset.sigs.k8s.io/size": "1", **suspended}
    if answer := _unless_refused(plane.context.client, pod, ""):
        problems.lines.append(answer)
    plane.context.client.with_user(STATEFUL_SET_CONTROLLER).create(pod)
    absent = {"metadata": {"name": "rehearsal-absent", "namespace": pod["metadata"]["namespace"]}}
    _hold(plane, absent, problems)
    problems.unless(bool(plane.pods(absent)), "the pod is gone")
    plane.context.clear()
    return problems.text()


def _needs_a_queue(plane: Plane) -> str:
    """Creates a LeaderWorkerSet without a queue. The policy queue-required must refuse it."""
    document = plane.group("unqueued", plane.slices[0], WORKERS)
    return _unless_refused(plane.context.client, document, "label kueue.x-k8s.io/queue-name is missing")


def _needs_the_gate(plane: Plane) -> str:
    """Creates a pod without a gate as the user that creates the pods of LeaderWorkerSets. gpu-quota must refuse it."""
    pod = plane.factory.pod("ungated", plane.pool, {plane.slices[0]: 1})
    return _unless_refused(plane.context.client.with_user(STATEFUL_SET_CONTROLLER), pod, "no quota counts the GPUs")


def _unless_refused(client: Client, document: Object, text: str) -> str:
    """Returns the answer about a new object, unless a policy refuses it with a text."""
    outcome = classify_response(client, lambda: client.create(document))
    is_good = (outcome.verdict, outcome.by) == ("refused", "policy") and text in outcome.message
    return "" if is_good else str(outcome)


def _needs_a_queue_without_gpus(plane: Plane) -> str:
    """Creates a pod without a queue on a pool without GPUs. gpu-quota must refuse it, because Kueue counts the pool."""
    pool = next(pool for pool in plane.factory.pools if not pool.is_gpu)
    return _unless_refused(plane.context.client, plane.factory.pod("plain", pool), "")


def _wait_ready(plane: Plane, created: Object, pods: int) -> None:
    """Waits until Kueue has admitted the Workloads, and until all pods are ready."""

    def is_ready() -> bool:
        found, rows = plane.pods(created), plane.workloads(created)
        is_admitted = bool(rows) and all(condition(row, "Admitted").get("status") == "True" for row in rows)
        return is_admitted and sum(condition(pod, "Ready").get("status") == "True" for pod in found) == pods

    plane.context.until(f"{pods} ready pods of {created['metadata']['name']}", is_ready, SECONDS)


CHECKS: dict[str, Callable[[Plane], str]] = {
    "a LeaderWorkerSet in a queue is one Workload, whose pods run and are counted": _is_counted,
    "a LeaderWorkerSet gets all the quota that its queue has and can borrow": _gets_its_limit,
    "no pod of a LeaderWorkerSet beyond this quota runs, and all of them have Kueue's gate": _is_held,
    "a policy refuses the deletion of a LeaderWorkerSet without its pods": _keeps_its_pods,
    "a pod with the labels of a LeaderWorkerSet that does not exist does not run": _forged_pod_is_held,
    "the policy queue-required refuses a LeaderWorkerSet without a queue": _needs_a_queue,
    "the policy gpu-quota refuses a pod of a StatefulSet without Kueue's gate": _needs_the_gate,
    "the policy gpu-quota refuses a pod without a GPU and without a queue": _needs_a_queue_without_gpus,
}


def main(arguments: Sequence[str]) -> int:
    """Runs the checks; returns 1 if one fails."""
    return with_controller("lws", "LeaderWorkerSets", partial(checks, progress=print_progress))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
