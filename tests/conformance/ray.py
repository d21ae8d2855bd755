"""Compares the pods that `gpuc trace` expects of Ray objects with those that the real KubeRay and Kueue make.

`python -m tests.conformance.ray --count 40 --seed 1`. `gpuc tools --kuberay` builds the operator; the test does not run
without it.
"""

import argparse
import signal
import sys
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import Any

from gpuc.kubernetes.amounts import PODS
from gpuc.kubernetes.kueue import KUEUE_API, QUEUE_LABEL
from gpuc.manifest.manifest import manifest_of
from gpuc.objects.pod_resources import pod_requests
from gpuc.pipeline.stages import CompiledSpec
from gpuc.trace import ClusterIndex, TraceResult, Workload, trace_workload, workload_of
from gpuc_rehearsal.apply import apply_objects
from gpuc_rehearsal.client import ApiError, Client, Object, condition
from gpuc_rehearsal.context import RehearsalContext, Timeouts
from gpuc_rehearsal.programs import MissingProgramsError, Programs, find_controller
from gpuc_rehearsal.sample_workloads import CONTAINER_SECURITY, WorkloadFactory, distinct_factories
from gpuc_rehearsal.substitute import replacement_objects
from tests.conformance.check_result import CheckResult, print_progress, report
from tests.conformance.compared_workloads import WITH_RAY, cluster_index, with_ray
from tests.conformance.local_controllers import crds_of, start_kuberay
from tests.conformance.shared_plane import SharedControlPlane, shared_control_plane

API = "ray.io/v1"
KINDS = ("RayJob", "RayJob", "RayJob", "RayCluster")
"""The kinds that a spec can name as frameworks of Kueue; a RayService has the same templates as a RayCluster."""
MODES = (None, "K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode")
SECONDS, QUIET_SECONDS = 180, 25
"""The longest wait, and the time without a change after which the pods of an object are complete."""
Amount = tuple[int, dict[str, int]]
"""A number of equal pods and the requests of one of them."""


def documents(factories: Sequence[WorkloadFactory], count: int, seed: int) -> list[Object]:
    """Returns random Ray objects; some of them are refused by the API server, by Kueue or by KubeRay."""
    randoms = [Random(f"{seed} {number}") for number in range(count)]
    return [_document(random.choice(factories), number, random) for number, random in enumerate(randoms)]


def _document(factory: WorkloadFactory, number: int, random: Random) -> Object:
    kind, metadata = random.choice(KINDS), factory.metadata(f"ray-{number}")
    queues = [name for name, has_gpus in factory.queues.items() if not has_gpus]
    if queues and random.random() < 0.95:
        metadata["labels"] = {**metadata.get("labels", {}), QUEUE_LABEL: random.choice(queues)}
    cluster = _cluster(factory, random)
    if cluster.get("enableInTreeAutoscaling") and random.random() < 0.7:
        metadata["annotations"] = {**metadata.get("annotations", {}), "kueue.x-k8s.io/elastic-job": "true"}
    spec = cluster if kind == "RayCluster" else _job(factory, random, cluster)
    return {"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec}


def _job(factory: WorkloadFactory, random: Random, cluster: Object) -> Object:
    spec: Object = {"entrypoint": "python run.py", "rayClusterSpec": cluster}
    spec["shutdownAfterJobFinishes"] = random.random() < 0.9
    if mode := random.choice(MODES):
        spec["submissionMode"] = mode
    if random.random() < 0.4:
        spec["submitterPodTemplate"] = _template(factory, random)
    if random.random() < 0.2:
        spec["backoffLimit"] = random.choice((0, 2))
    if random.random() < 0.1:
        spec["ttlSecondsAfterFinished"] = 60
    if random.random() < 0.1:
        spec["clusterSelector"] = {"ray.io/cluster": "absent"}
    return spec


def _cluster(factory: WorkloadFactory, random: Random) -> Object:
    groups = [_group(factory, random, f"group-{number}") for number in range(random.randint(0, 2))]
    cluster: Object = {"headGroupSpec": {"rayStartParams": {}, "template": _template(factory, random)}}
    cluster["workerGroupSpecs"] = groups
    if random.random() < 0.25:
        cluster["enableInTreeAutoscaling"] = True
        if random.random() < 0.5:
            cluster["autoscalerOptions"] = {"resources": {"requests": {"cpu": "300m", "memory": "256Mi"}}}
    if random.random() < 0.15:
        cluster["gcsFaultToleranceOptions"] = {"redisAddress": "redis:6379"}
    return cluster


def _group(factory: WorkloadFactory, random: Random, name: str) -> Object:
    least = random.randint(0, 2)
    group: Object = {"groupName": name, "rayStartParams": {}, "minReplicas": least, "maxReplicas": least + 2}
    if random.random() < 0.8:
        group["replicas"] = random.randint(0, 4)
    if random.random() < 0.2:
        group["numOfHosts"] = 2
    if random.random() < 0.1:
        group["suspend"] = True
    return {**group, "template": _template(factory, random)}


def _template(factory: WorkloadFactory, random: Random) -> Object:
    pool = next(pool for pool in factory.pools if not pool.is_gpu)
    pod = factory.pod("ray", pool)["spec"]
    if random.random() < 0.8:
        del pod["restartPolicy"]
    pod["containers"][0]["securityContext"] = deepcopy(CONTAINER_SECURITY)
    amounts = {"cpu": random.choice(("50m", "300m", "1")), "memory": random.choice(("64Mi", "1Gi"))}
    pod["containers"][0]["resources"] = {random.choice(("requests", "limits")): amounts}
    return {"spec": pod}


@dataclass
class Compared:
    """What KubeRay and Kueue made of an object."""

    refusal: str = ""
    """Why the API server, Kueue or KubeRay refuses the object or one of its pods; else empty."""
    pods: dict[str, Amount] = field(default_factory=dict)
    queued: dict[str, Amount] = field(default_factory=dict)
    """The pod sets of the Workload."""


def traced(index: ClusterIndex, document: Object) -> tuple[Compared, Workload | None, TraceResult | None]:
    """Returns what `gpuc trace` expects."""
    workload = workload_of(manifest_of(document), document)
    if workload is None:
        return Compared("not traced"), None, None
    result = trace_workload(index, workload)
    failure = result.failure
    made = {pods.name: (pods.count, _requests(result.requests[pods.name])) for pods in workload.pod_sets}
    sets = (
        () if result.bypass else [pods.seen_by_kueue for pods in (*workload.pod_sets, *workload.held_sets)]
    )  # as written in the Workload
    queued = {pods.name: (pods.count, _requests(pod_requests(pods.pod))) for pods in sets}
    return Compared(failure.message if failure else "", made, queued), workload, result


def _requests(requests: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in requests.items() if count and name != PODS}


def made(client: Client, document: Object) -> Compared:
    """Creates an object, and returns what the programs make of it after some seconds without a change."""
    try:
        created = client.create(document)
    except ApiError as error:
        return Compared(error.message)
    started, last, changed_at = time.monotonic(), Compared(), time.monotonic()
    quiet = QUIET_SECONDS
    while time.monotonic() - started < SECONDS and time.monotonic() - changed_at < quiet:
        time.sleep(1)
        found = _state(client, created)
        if found != last:
            last, changed_at = found, time.monotonic()
            quiet = QUIET_SECONDS if found.pods or found.refusal else SECONDS // 2
    return last


def _state(client: Client, created: Object) -> Compared:
    metadata = created["metadata"]
    namespace, name = metadata["namespace"], metadata["name"]
    found = Compared()
    status = client.get(API, created["kind"], name, namespace).get("status", {})
    if status.get("jobDeploymentStatus") == "ValidationFailed":
        found.refusal = str(status.get("message") or "validation failed")
    for event in client.list_all("v1", "Event", namespace):
        is_own = str(event["involvedObject"]["name"]).startswith(name)
        is_failure = any(part in event["reason"] for part in ("FailedTo", "FailedCreate", "Invalid"))
        if is_own and event["type"] == "Warning" and is_failure and "already exists" not in str(event["message"]):
            found.refusal = f"{event['reason']}: {event['message']}"
    for pod in client.list_all("v1", "Pod", namespace):
        if pod["metadata"]["name"].startswith(name):
            pod_set = pod["metadata"].get("labels", {}).get("ray.io/group", "submitter")
            count, _ = found.pods.get(pod_set, (0, {}))
            found.pods["head" if pod_set == "headgroup" else pod_set] = (
                count + 1,
                _requests(pod_requests(pod["spec"])),
            )
    for row in client.list_all(KUEUE_API, "Workload", namespace):
        if metadata["uid"] in {owner["uid"] for owner in row["metadata"].get("ownerReferences", ())}:
            reserved = condition(row, "QuotaReserved")
            if reserved.get("status") == "False" and reserved.get("reason") != "Waiting":
                found.refusal = f"Kueue: {reserved.get('message')}"
            for part in filter(lambda row: row["count"], row["spec"]["podSets"]):
                found.queued[part["name"]] = part["count"], _requests(pod_requests(part["template"]["spec"]))
    return found


def difference(expected: Compared, real: Compared) -> str:
    """Returns how the pods of the programs differ from those of `gpuc trace`; an empty string if they do not."""
    if bool(expected.refusal) != bool(real.refusal) and expected.refusal != "not traced":
        return f"refusal: expected {expected.refusal!r}, real {real.refusal!r} with {real.pods} and {real.queued}"
    if expected.refusal:
        return ""
    parts = [("pods", expected.pods, real.pods), ("queued", expected.queued, real.queued)]
    return "; ".join(f"{name}: expected {left}, real {right}" for name, left, right in parts if left != right)


def checks(operator: Programs, count: int, seed: int, progress: Callable[[str], None]) -> list[CheckResult]:
    """Starts a control plane with Kueue and KubeRay, and compares random objects one after the other."""
    spec, problems = with_ray(WITH_RAY), []
    with shared_control_plane(spec, progress, crds_of("kuberay", operator)) as plane:
        start_kuberay(plane.plane.site, operator).wait_ready(SECONDS)
        applied = apply_objects(plane.client, spec.synced, replacement_objects(spec.cluster), progress, SECONDS)
        problems += [str(row) for row in (*applied.refusals, *applied.unhealthy)]
        problems += _compared(spec, plane, count, seed, progress)
    return [CheckResult("KubeRay and Kueue make the pods that trace expects", "\n".join(problems), f"{count} objects")]


def _compared(
    spec: CompiledSpec, plane: SharedControlPlane, count: int, seed: int, progress: Callable[[str], None]
) -> list[str]:
    context, index = RehearsalContext(spec, plane.client, Timeouts(*(SECONDS,) * 4)), cluster_index(spec)
    factories = [row for row in distinct_factories(spec.cluster) if any(not pool.is_gpu for pool in row.pools)]
    problems = []
    for number, document in enumerate(documents(factories, count, seed)):
        expected, _, _ = traced(index, document)
        real = made(plane.client, document)
        found = difference(expected, real)
        progress(f"{number}: {document['kind']}: {found or real.refusal[:150] or 'equal'}")
        problems += [f"{number}: {document['kind']} {document['spec'].get('submissionMode')}: {found}"] if found else []
        metadata: Any = document["metadata"]
        plane.client.delete(API, document["kind"], metadata["name"], metadata["namespace"])
        for kind in (("batch/v1", "Job"), ("v1", "Pod"), ("v1", "Event")):
            plane.client.delete_all(*kind, metadata["namespace"])
    context.clear()
    return problems


def main(arguments: Sequence[str]) -> int:
    """Runs the comparison; returns 1 if an object differs."""
    parser = argparse.ArgumentParser(prog="tests.conformance.ray")
    parser.add_argument("--count", type=int, default=40, help="number of objects")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        operator = find_controller("kuberay", "Ray objects")
    except MissingProgramsError as error:
        print(f"not run: Ray objects with the real KubeRay: {error}")
        return 0
    return report(checks(operator, given.count, given.seed, print_progress))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
