"""Runs workloads in a queue whose pods become ready late or never, with the emitted waitForPodsReady scaled down.

Pods of a Deployment that are late but within the emitted time keep their node. Pods that are later lose their node,
which proves that the test measures the emitted time. Kueue deactivates a Job whose pods never become ready after the
emitted number of attempts. `python -m tests.conformance.late_pods`.
"""

import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from gpuc.kubernetes.kueue import KUEUE_API, QUEUE_LABEL
from gpuc.pipeline.stages import compiled_spec
from gpuc_rehearsal.client import Object
from gpuc_rehearsal.context import RehearsalContext
from gpuc_rehearsal.plane.kwok import READY_AFTER
from gpuc_rehearsal.plane.site import Settings
from gpuc_rehearsal.sample_workloads import distinct_factories
from gpuc_rehearsal.suites.serving import available_pool, replicated
from tests.conformance.check_result import CheckResult, print_progress, report
from tests.conformance.shared_plane import kueue_configuration, shared_control_plane
from tests.conftest import ROOT

EXAMPLE = "specs/infer-euw1.yaml"
SECONDS_PER_MINUTE = 0.25
"""Seconds of the test for one emitted minute."""
LATE, TOO_LATE = 0.7, 3.0
"""Delays of pods, as a part of the emitted time."""
NODE_SECONDS = 40
ATTEMPT_SECONDS = 4
"""The time limit of an attempt to start a Job whose pods never become ready."""
MAX_STOP_SECONDS = 240


def checks(progress: Callable[[str], None]) -> Iterator[CheckResult]:
    """Yields the results for a Deployment within the emitted time, and for a Deployment beyond it."""
    spec = compiled_spec(ROOT, EXAMPLE)
    with shared_control_plane(spec, progress) as plane:
        context = plane.rehearse(spec)
        minutes = _emitted_minutes(plane.settings)
        seconds = minutes * SECONDS_PER_MINUTE
        plane.restart(_scaled(plane.settings, seconds))
        for part, is_evicted in ((LATE, False), (TOO_LATE, True)):
            actual = _runs(context, f"late-{int(part * 10)}", part * seconds, seconds)
            action = "lose" if is_evicted else "keep"
            name = f"pods of a Deployment in a queue that are ready after {part:.0%} of the emitted time {action} nodes"
            problem = "" if actual is not is_evicted else f"evicted: {not actual}"
            yield CheckResult(name, problem, f"{seconds:.0f} s stand for {minutes} minutes")
            context.clear()
        plane.restart(_scaled(plane.settings, ATTEMPT_SECONDS, backoff_seconds=1))
        actual_attempts, problem = _attempts(context)
        expected = spec.cluster.spec.kueue.start_attempts
        if not problem and actual_attempts != expected:
            problem = f"{actual_attempts} attempts; expected {expected}"
        yield CheckResult(f"a Job whose pods never become ready is stopped after {expected} attempts", problem)


def _emitted_minutes(settings: Settings) -> int:
    return int(str(kueue_configuration(settings)["waitForPodsReady"]["timeout"]).removesuffix("m"))


def _scaled(settings: Settings, seconds: float, backoff_seconds: int | None = None) -> Settings:
    configuration: dict[str, Any] = dict(kueue_configuration(settings))
    timeout = f"{round(seconds * 1000)}ms"
    wait = {**configuration["waitForPodsReady"], "timeout": timeout, "recoveryTimeout": timeout}
    if backoff_seconds is not None:
        backoff = {"backoffBaseSeconds": backoff_seconds, "backoffMaxSeconds": backoff_seconds}
        wait["requeuingStrategy"] = {**wait["requeuingStrategy"], **backoff}
    return replace(settings, kueue_configuration={**configuration, "waitForPodsReady": wait})


def _runs(context: RehearsalContext, name: str, delay: float, timeout: float) -> bool:
    """Returns whether the first pod of a Deployment with late pods becomes ready. False means that Kueue evicts it."""
    document = _deployment(context, name, delay)
    context.client.create(document)
    metadata = document["metadata"]

    def bound_pods() -> list[Object]:
        pods = context.client.list_all("v1", "Pod", metadata["namespace"], f"app={metadata['name']}")
        return [pod for pod in pods if pod["spec"].get("nodeName")]

    context.until(f"a node for Deployment {metadata['name']}", lambda: bool(bound_pods()), NODE_SECONDS)
    first = bound_pods()[0]["metadata"]["uid"]
    deadline = time.monotonic() + max(delay, timeout) + NODE_SECONDS
    while time.monotonic() < deadline:
        pod = next((pod for pod in bound_pods() if pod["metadata"]["uid"] == first), None)
        if pod is None or "deletionTimestamp" in pod["metadata"]:
            return False
        if pod.get("status", {}).get("phase") == "Running":
            return True
        time.sleep(0.2)
    raise AssertionError(f"the pod of Deployment {metadata['name']} is neither ready nor evicted")


def _attempts(context: RehearsalContext) -> tuple[int, str]:
    """Returns how often Kueue starts a Job whose pods never become ready, and a problem if Kueue does not stop."""
    document = _job(context)
    metadata = context.client.create(document)["metadata"]
    namespace, started = metadata["namespace"], set()
    deadline = time.monotonic() + MAX_STOP_SECONDS
    while time.monotonic() < deadline:
        pods = context.client.list_all("v1", "Pod", namespace, f"job-name={metadata['name']}")
        started |= {pod["metadata"]["uid"] for pod in pods}
        workloads = context.client.list_all(KUEUE_API, "Workload", namespace)
        if any(workload["spec"].get("active") is False and _owned(workload, metadata) for workload in workloads):
            return len(started), ""
        time.sleep(0.2)
    return len(started), f"the Workload is still active after {MAX_STOP_SECONDS} s"


def _owned(workload: Object, owner: Object) -> bool:
    return any(reference["uid"] == owner["uid"] for reference in workload["metadata"].get("ownerReferences", ()))


def _job(context: RehearsalContext) -> Object:
    """Returns a Job in the first queue with GPUs. Its pod never becomes ready."""
    for factory in distinct_factories(context.cluster):
        for queue, has_gpus in factory.queues.items():
            if has_gpus:
                document = factory.queued_job("never-ready", queue)
                document["spec"]["template"]["metadata"] = {"annotations": {READY_AFTER: "3600000ms"}}
                return document
    raise AssertionError(f"{EXAMPLE} has no queue with a GPU pool")


def _deployment(context: RehearsalContext, name: str, delay: float) -> Object:
    """Returns a Deployment with one pod on the first GPU pool of the first queue."""
    for factory in distinct_factories(context.cluster):
        for queue in (part for owner in factory.namespace.queues for part in owner.cluster_queues):
            pool, resource = available_pool(context.spec, queue)
            if pool is not None:
                document = replicated(factory, "Deployment", factory.pod(name, pool, {resource: 1}), 1)
                document["metadata"]["labels"] = {QUEUE_LABEL: queue.name}
                annotations = {READY_AFTER: f"{round(delay * 1000)}ms"}
                document["spec"]["template"]["metadata"]["annotations"] = annotations
                return document
    raise AssertionError(f"{EXAMPLE} has no queue with a GPU pool")


def main() -> int:
    """Runs the test; returns 1 if a check fails."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return report(checks(print_progress))


if __name__ == "__main__":
    sys.exit(main())
