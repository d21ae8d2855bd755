"""Runs random workloads on a control plane with the objects of an example cluster."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

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
from gpuc_rehearsal.substrates.eks.karpenter import CLAIM, PROGRAM
from tests.conformance.compared_run import DECISION_SECONDS, ComparedRun, Decisions
from tests.conformance.karpenter_failures import KarpenterFailures
from tests.conformance.local_controllers import start_controllers, with_definitions
from tests.conformance.random_workloads import JOBSET, RAY, RandomWorkload
from tests.conformance.real_answers import KINDS, NODE, Answer, refusal
from tests.conformance.shared_plane import upstream_crds
from tests.conformance.watched_objects import WatchedObjects
from tests.conformance.workload_shares import Shares, rounds

START_SECONDS = 180
CREATORS = 6
"""Number of removals at the same time."""
CRON_CONTROLLER = "system:serviceaccount:kube-system:cronjob-controller"
JOBSET_KIND = ("jobset.x-k8s.io/v1alpha2", "JobSet")
RAY_KINDS = (("ray.io/v1", "RayJob"), ("ray.io/v1", "RayCluster"))
REMOVED_KINDS = (
    ("batch/v1", "CronJob"), JOBSET_KIND, *RAY_KINDS, ("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"),
    ("batch/v1", "Job"), ("v1", "Pod"), ("v1", "PersistentVolumeClaim"),
)  # fmt: skip
"""The kinds that are removed after each round, owners first."""


class ComparedPlane:
    """A control plane on which workloads run."""

    def __init__(
        self, spec: CompiledSpec, client: Client, watched: WatchedObjects, failures: KarpenterFailures
    ) -> None:
        self._spec, self._client, self._watched, self._failures = spec, client, watched, failures
        self._context = RehearsalContext(spec, client, Timeouts())
        self._members: dict[str, Client] = {}
        self._static = {pool.scaling.static_node_pool for pool in spec.cluster.pools if pool.scaling} - {None, ""}

    def answers(self, workloads: Sequence[RandomWorkload], progress: Callable[[str], None]) -> dict[int, Answer]:
        """Returns the answers by the number of the workload.

        Workloads whose answer others may have caused run again, without workloads of the same cohort or pool.
        """
        decided = self._run(workloads, Shares(), progress)
        found, again = decided.answers, [row for row in workloads if row.number in decided.contended]
        for workload in again:
            progress(f"again: {workload.name}: {' '.join(vars(found[workload.number]).values())[:200]}")
        for part in rounds(again):
            found |= self._run(part, Shares(is_alone=True), progress).answers
        return {number: _final(result) for number, result in found.items()}

    def _run(self, workloads: Sequence[RandomWorkload], shares: Shares, progress: Callable[[str], None]) -> Decisions:
        """Returns the answers when all workloads are decided, and removes everything."""
        started, name = time.monotonic(), self._spec.cluster.name
        run = ComparedRun(self._client, self._watched, self._failures, self._static, self._create, progress)
        found = run.decide(workloads, shares)
        decided = time.monotonic() - started
        self._clear()
        cleared = time.monotonic() - started - decided
        which = f"{len(workloads)} workloads{' alone' if shares.is_alone else ''}"
        progress(f"{name}: {which}, {decided:.0f} s and {cleared:.0f} s to clear")
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
        failures = KarpenterFailures(next(row.log for row in plane.site.processes if row.name == PROGRAM))
        with WatchedObjects(plane.client, [*kinds, CLAIM]) as watched:
            yield ComparedPlane(spec, plane.client, watched, failures)
        plane.require_alive()
