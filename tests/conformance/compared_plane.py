"""Runs random workloads on a control plane with the objects of an example cluster."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from msgspec.structs import replace

from gpuc.kubernetes.amounts import amount
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.apply import apply_objects
from gpuc_rehearsal.client import ApiError, Client, Object
from gpuc_rehearsal.context import RehearsalContext, Timeouts
from gpuc_rehearsal.crds import definitions
from gpuc_rehearsal.health import place_static_nodes
from gpuc_rehearsal.plane import ControlPlane
from gpuc_rehearsal.programs import Programs
from gpuc_rehearsal.substitute import replacement_objects, settings
from tests.conformance.local_controllers import start_controllers, with_definitions
from tests.conformance.random_workloads import JOBSET, RAY, RandomWorkload
from tests.conformance.real_answers import KINDS, NODE, Answer, answer, refusal, undecided
from tests.conformance.shared_plane import upstream_crds
from tests.conformance.watched_objects import WatchedObjects
from tests.conformance.workload_mutations_rules import PREFIX

START_SECONDS = 180
DECISION_SECONDS, MOST_PATIENCE = 40, 2
"""The longest wait for the decision about a created workload, and by how much a busy machine prolongs it."""
SLOW_SECONDS = 12
"""Decisions that take longer are printed."""
POLL_SECONDS = 0.2
CREATORS = 6
"""Number of workloads that are created at the same time."""
ROUND = 45
"""The largest number of workloads in a round."""
USED = 0.7
"""The part of a quota or pool that the workloads of a round use together."""
MOST_NODES = 2.0
"""The nodes of a workload with rules between its pods in a round; a workload that lacks nodes runs again alone."""
HEAVY = frozenset({
    "more pods than the quota", "twenty pods", "host anti-affinity beyond the nodes", "one block for twelve nodes",
})  # fmt: skip
"""Mutations after which a workload may use all nodes of its pool."""
CRON_CONTROLLER = "system:serviceaccount:kube-system:cronjob-controller"
JOBSET_KIND = ("jobset.x-k8s.io/v1alpha2", "JobSet")
RAY_KINDS = (("ray.io/v1", "RayJob"), ("ray.io/v1", "RayCluster"))
REMOVED_KINDS = (
    ("batch/v1", "CronJob"), JOBSET_KIND, *RAY_KINDS, ("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"),
    ("batch/v1", "Job"), ("v1", "Pod"), ("v1", "PersistentVolumeClaim"),
)  # fmt: skip
"""The kinds that are removed after each round, owners first."""


@dataclass
class Round:
    """Workloads that run at the same time without a shortage of quota or nodes."""

    workloads: list[RandomWorkload]
    used: dict[tuple[str, ...], float]

    def add(self, workload: RandomWorkload, *, is_alone: bool) -> bool:
        """Adds a workload unless the round is full; returns whether the workload was added."""
        if len(self.workloads) >= ROUND:
            return False
        target = workload.target
        heavy = is_alone or workload.mutation in HEAVY
        nodes = MOST_NODES if workload.mutation.startswith(PREFIX) else workload.nodes
        limits = {
            ("pool", target.pool.name): float(target.pool.nodes_max),
            ("quota", target.namespace.name if not target.queue else target.queue, target.pool.name): target.nodes,
        }
        if is_alone:
            limits = {("cohort",): 1.0} if target.queue else {**limits, ("namespace", target.namespace.name): 1.0}
        wanted = {key: limit if heavy else min(nodes, limit) for key, limit in limits.items()}
        for key, limit in limits.items():
            if key in self.used and self.used[key] + wanted[key] > USED * limit:
                return False
        for key, nodes in wanted.items():
            self.used[key] = self.used.get(key, 0) + nodes
        self.workloads.append(workload)
        return True


def rounds(workloads: Iterable[RandomWorkload], *, alone: bool = False) -> list[list[RandomWorkload]]:
    """Returns the workloads in rounds. alone: workloads of one round share neither a cohort nor a pool."""
    found: list[Round] = []
    for workload in workloads:
        if not any(candidate.add(workload, is_alone=alone) for candidate in found):
            found.append(Round([], {}))
            found[-1].add(workload, is_alone=alone)
    return [candidate.workloads for candidate in found]


class ComparedPlane:
    """A control plane on which workloads run in rounds."""

    def __init__(self, spec: CompiledSpec, client: Client, watched: WatchedObjects) -> None:
        self._spec, self._client, self._watched = spec, client, watched
        self._context = RehearsalContext(spec, client, Timeouts())
        self._members: dict[str, Client] = {}

    def answers(self, workloads: Sequence[RandomWorkload], progress: Callable[[str], None]) -> dict[int, Answer]:
        """Returns the answers by the number of the workload.

        Workloads whose answer others may have caused run again, without workloads of the same cohort or pool.
        """
        found: dict[int, Answer] = {}
        for is_alone in (False, True):
            chosen = [workload for workload in workloads if workload.number not in found]
            if is_alone:
                chosen = [workload for workload in workloads if self._is_contended(found[workload.number])]
                for workload in chosen:
                    progress(f"again: {workload.name}: {' '.join(vars(found[workload.number]).values())[:200]}")
            planned = rounds(chosen, alone=is_alone)
            for number, part in enumerate(planned, 1):
                started = time.monotonic()
                found |= self._round(part, progress)
                decided = time.monotonic() - started
                self._clear()
                progress(
                    f"{self._spec.cluster.name}: round {number} of {len(planned)}{' alone' if is_alone else ''}, "
                    f"{len(part)} workloads, {decided:.0f} s and {time.monotonic() - started - decided:.0f} s to clear"
                )
        return {number: _final(result) for number, result in found.items()}

    def _is_contended(self, result: Answer) -> bool:
        return result.is_contended(has_static_nodes=any(pool.always_running for pool in self._spec.cluster.pools))

    def _round(self, workloads: Sequence[RandomWorkload], progress: Callable[[str], None]) -> dict[int, Answer]:
        """Creates workloads, and returns the answers when all of them are decided."""
        found: dict[int, Answer] = {}
        names = {workload.number: workload.name for workload in workloads}
        waiting: dict[int, tuple[float, Object]] = {}
        with ThreadPoolExecutor(CREATORS) as threads:
            for workload, result in zip(workloads, threads.map(self._create, workloads), strict=True):
                if isinstance(result, Answer):
                    found[workload.number] = result
                else:
                    waiting[workload.number] = time.monotonic(), result
        while waiting:
            for number, (started, created) in [*waiting.items()]:
                decision = answer(self._watched, created)
                if decision is None and time.monotonic() - started > DECISION_SECONDS * _patience():
                    decision = undecided(self._watched, created)
                if decision is not None:
                    found[number] = decision
                    del waiting[number]
                    if (seconds := time.monotonic() - started) > SLOW_SECONDS:
                        progress(f"{names[number]}: {seconds:.0f} s: {' '.join(vars(decision).values())[:200]}")
            time.sleep(POLL_SECONDS)
        return found

    def _create(self, workload: RandomWorkload) -> Object | Answer:
        """Creates a workload as a member of its tenant, and the Job of a CronJob as its controller."""
        try:
            created = self._member(workload).create(workload.document)
            if created["kind"] == "CronJob":
                if created["spec"].get("suspend"):
                    return Answer("no", "controller", "the CronJob is suspended")
                self._client.with_user(CRON_CONTROLLER).create(_job_of(created))
        except ApiError as error:
            return refusal(error.message)
        return created

    def _member(self, workload: RandomWorkload) -> Client:
        """Returns a client with the rights of a member of the tenant that owns the namespace of the workload.

        `gpuc trace` answers for such a member. In other namespaces, the user is a member of the workload's tenant.
        """
        namespace = workload.document["metadata"].get("namespace")
        owners = [
            tenant for tenant in self._spec.cluster.tenants if namespace in [item.name for item in tenant.namespaces]
        ]
        tenant = (*owners, workload.target.tenant)[0]
        if tenant.name not in self._members:
            self._members[tenant.name] = self._client.impersonate(member(tenant.name), tenant.groups[0])
        return self._members[tenant.name]

    def _clear(self) -> None:
        """Removes all workloads, nodes and events, and waits until no quota is used."""
        kinds = [kind for kind in REMOVED_KINDS if self._client.serves(*kind)]
        with ThreadPoolExecutor(CREATORS) as threads:
            removals = [(*kind, namespace) for kind in kinds for namespace in self._context.namespaces]
            list(threads.map(lambda removal: self._client.delete_all(*removal), removals))
        self._context.clear()
        for namespace in ("default", *self._context.namespaces):
            self._client.delete_all("v1", "Event", namespace)
        self._watched.forget_events()
        self._context.until("quotas without usage", lambda: not any(self._used_quotas()), START_SECONDS)
        static = sum(pool.always_running for pool in self._spec.cluster.pools)
        self._context.until("no nodes", lambda: len(self._watched.all(NODE)) <= static, START_SECONDS)

    def _used_quotas(self) -> Iterator[str]:
        for quota in self._client.list_all("v1", "ResourceQuota"):
            for name, used in quota.get("status", {}).get("used", {}).items():
                is_counted = name.startswith("requests.") or name in ("pods", "count/jobs.batch")
                if is_counted and amount(name, used):
                    yield f"{quota['metadata']['namespace']} {name}"


def _patience() -> float:
    """Returns by how much the other programs of the machine prolong the decisions."""
    return min(max(os.getloadavg()[0] / (os.cpu_count() or 1), 1), MOST_PATIENCE)


def _final(result: Answer) -> Answer:
    """Returns the answer; "no" if the control plane decided nothing although no other workload was there."""
    if result.verdict != "none":
        return result
    return Answer("no", "controller", f"nothing happened in {DECISION_SECONDS} s: {result.message}")


def member(tenant: str) -> str:
    """Returns the user name of a member of a tenant."""
    return f"member-of-{tenant}"


def _job_of(cron_job: Object) -> Object:
    """Returns the Job that the controller of CronJobs creates.

    Source: k8s.io/kubernetes v1.35.4 pkg/controller/cronjob/utils.go (getJobFromTemplate2, getJobName)
    """
    metadata, template = cron_job["metadata"], cron_job["spec"]["jobTemplate"]
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": metadata["name"], "uid": metadata["uid"]}
    given = template.get("metadata", {})
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"{metadata['name']}-{int(time.time()) // 60}",
            "namespace": metadata["namespace"],
            "labels": given.get("labels") or {},
            "annotations": {
                **(given.get("annotations") or {}),
                "batch.kubernetes.io/cronjob-scheduled-timestamp": time.strftime("%Y-%m-%dT%H:%M:00Z", time.gmtime()),
            },
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "spec": template["spec"],
    }


@contextmanager
def compared_plane(
    spec: CompiledSpec, programs: Programs, built: Mapping[str, Programs], progress: Callable[[str], None]
) -> Iterator[ComparedPlane]:
    """Starts a control plane with the admission plugins of EKS and controllers of workloads, and applies a cluster.

    Args:
        built: the controllers that are built, by the option of `gpuc tools`; those of the spec's frameworks start.
    """
    frameworks = spec.cluster.frameworks
    given = settings(spec, definitions(programs, upstream_crds(), frameworks))
    used = {name for name, framework in (("jobset", JOBSET), ("kuberay", RAY[0])) if framework in frameworks}
    used &= built.keys()
    started = {name: built[name] for name in sorted(used)}
    crds = with_definitions(given.crds, started)
    with ControlPlane(programs, replace(given, crds=crds, service_accounts=True), progress) as plane:
        processes = start_controllers(plane.site, plane.client, started, spec.cluster.controller_accounts)
        applied = apply_objects(plane.client, spec.synced, replacement_objects(spec.cluster), progress)
        for process in processes:
            process.wait_ready(START_SECONDS)
        problems = [*map(str, applied.refusals), *map(str, applied.unhealthy)]
        problems += map(str, place_static_nodes(plane.client, spec.cluster, START_SECONDS).items())
        if problems:
            raise AssertionError(f"{spec.cluster.name} is not complete: {'; '.join(problems)}")
        for namespace in spec.cluster.tenant_namespaces:
            plane.client.wait_for("v1", "ServiceAccount", "default", lambda _: True, START_SECONDS, namespace)
        kinds = [*KINDS, *([JOBSET_KIND] if "jobset" in used else []), *(RAY_KINDS if "kuberay" in used else ())]
        with WatchedObjects(plane.client, kinds) as watched:
            yield ComparedPlane(spec, plane.client, watched)
        plane.require_alive()
