"""Generates random workloads for the comparison of `gpuc trace` with real programs.

A workload is correct, as the emitted templates are, or it is a correct workload with one mutation. The same cluster,
seed and number always give the same workload.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from math import ceil
from random import Random

from gpuc.kubernetes.kueue import PRIORITY_LABEL, QUEUE_LABEL
from gpuc.model import Cluster, Namespace, Pool, Tenant
from gpuc.model.names import COST_LABEL
from gpuc.parts.workload_kinds import pod_frameworks
from gpuc.spec.platform import Framework
from gpuc_rehearsal.client import Object
from tests.conformance.random_pods import VALUES, PodMaker, Size, random_size
from tests.conformance.workload_drafts import Draft
from tests.conformance.workload_mutations import MUTATIONS

JOBSET: Framework = "jobset.x-k8s.io/jobset"
MAX_PODS = 4
MAX_LOAD = 0.4
"""The largest part of its pool's quota that a correct workload uses, so that several workloads run at the same time."""
DRAWS = 40
"""Number of workloads that are drawn until a mutation is possible in one of them."""
KINDS = ("Job", "Job", "Job", "CronJob", "JobSet", "Deployment", "StatefulSet", "Pod")
"""Kinds of workloads; a kind is drawn as often as it is listed."""
_APIS = {"Job": "batch/v1", "CronJob": "batch/v1", "JobSet": "jobset.x-k8s.io/v1alpha2", "Pod": "v1"}


@dataclass(frozen=True)
class Target:
    """A namespace and a pool, with the LocalQueue that counts the pool; without a queue, a ResourceQuota counts it."""

    tenant: Tenant
    namespace: Namespace
    pool: Pool
    queue: str
    nodes: float
    """The quota for the pool, in nodes."""
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class RandomWorkload:
    """A workload of the comparison."""

    number: int
    cluster: str
    target: Target
    kind: str
    """The kind before the mutation."""
    document: Object
    pods: int
    """The number of pods before the mutation."""
    nodes: float
    """The part of the pool's nodes that the pods use before the mutation."""
    mutation: str = ""

    @property
    def name(self) -> str:
        """Returns a description of the workload."""
        changed = f", {self.mutation}" if self.mutation else ""
        place = f"{self.target.namespace.name} {self.target.queue or 'no queue'} {self.target.pool.name}"
        return f"{self.cluster} {self.number}: {self.kind} in {place}{changed}"


def random_workloads(
    cluster: Cluster, count: int, seed: int, left_out: frozenset[str] = frozenset(), only: str = ""
) -> Iterator[RandomWorkload]:
    """Yields workloads. Every second workload has a mutation; all mutations are used equally often.

    Args:
        left_out: kinds of workloads that are not used.
        only: the start of the names of the used mutations; then every workload has one.
    """
    possible = {kind: found for kind, found in targets(cluster).items() if kind not in left_out}
    mutations = [name for name in MUTATIONS if name.startswith(only)]
    Random(f"{cluster.name} {seed}").shuffle(mutations)
    for number in range(count):
        if number % 2 == 0 and not only:
            yield _workload(cluster, possible, number, Random(f"{cluster.name} {seed} {number}"))
            continue
        start = number if only else number // 2
        mutated = (
            _mutated(cluster, possible, number, seed, mutations[(start + skipped) % len(mutations)])
            for skipped in range(len(mutations))
        )
        yield next(filter(None, mutated))


def _mutated(
    cluster: Cluster, possible: Mapping[str, list[Target]], number: int, seed: int, mutation: str
) -> RandomWorkload | None:
    """Returns a workload with a mutation; None if the mutation is not possible in any of the drawn workloads."""
    for draw in range(DRAWS):
        random = Random(f"{cluster.name} {seed} {number} {mutation} {draw}")
        workload = _workload(cluster, possible, number, random)
        document = deepcopy(workload.document)
        if MUTATIONS[mutation](Draft(document, workload.kind, cluster, workload.target, random)):
            return replace(workload, document=document, mutation=mutation)
    return None


def targets(cluster: Cluster) -> dict[str, list[Target]]:
    """Returns by kind the targets in which a workload of the kind can run."""
    found: dict[str, list[Target]] = {}
    for target in _targets(cluster):
        for kind in target.kinds:
            found.setdefault(kind, []).append(target)
    return found


def _targets(cluster: Cluster) -> Iterator[Target]:
    for tenant, namespace in cluster.namespaces:
        for queue in (part for owner in namespace.queues for part in owner.cluster_queues):
            for quota in queue.pool_quotas:
                nodes = min(_nodes(quota.pool, quota.nominal), quota.pool.nodes_max)
                yield Target(tenant, namespace, quota.pool, queue.name, nodes, _queued_kinds(cluster))
                if not quota.pool.is_gpu:
                    yield Target(tenant, namespace, quota.pool, "", nodes, ("Deployment", "StatefulSet", "Pod"))
        for own in namespace.quotas:
            nodes = min(_nodes(own.pool, own.amounts), own.pool.nodes_max)
            yield Target(tenant, namespace, own.pool, "", nodes, ("Deployment", "StatefulSet", "Pod"))


def _queued_kinds(cluster: Cluster) -> tuple[str, ...]:
    frameworks = set(cluster.frameworks)
    kinds = ["Job", "CronJob", *(["JobSet"] if JOBSET in frameworks else [])]
    if frameworks & pod_frameworks():
        kinds += [name for name in ("Deployment", "StatefulSet", "Pod") if name.lower() in frameworks]
    return tuple(kinds)


def _nodes(pool: Pool, amounts: Mapping[str, int]) -> float:
    """Returns how many nodes of a pool the amounts are: the minimum over the resources with an amount."""
    return min((count / pool.node[name] for name, count in amounts.items() if count and pool.node.get(name)), default=0)


def _workload(cluster: Cluster, possible: Mapping[str, list[Target]], number: int, random: Random) -> RandomWorkload:
    kind = random.choice([kind for kind in KINDS if kind in possible])
    candidates = possible[kind]
    target = random.choice(candidates)
    size = random_size(random, target.pool, target.nodes * MAX_LOAD)
    most = max(1, int(target.nodes * MAX_LOAD / max(size.nodes, 0.001)))
    pods = random.randint(1, min(MAX_PODS, most))
    maker = _Maker(cluster, target, random, f"w{number}-{random.choice(VALUES['names'])}", size, pods)
    document = maker.document(kind)
    nodes = size.nodes * maker.pods
    if size.nodes > 0.5:
        nodes = float(ceil(nodes))
    return RandomWorkload(number, cluster.name, target, kind, document, maker.pods, nodes)


class _Maker:
    """Makes a correct workload of any kind."""

    def __init__(self, cluster: Cluster, target: Target, random: Random, name: str, size: Size, pods: int) -> None:
        self.cluster, self.target, self.random, self.name, self.size, self.pods = (
            cluster, target, random, name, size, pods,
        )  # fmt: skip
        self._pod = PodMaker(cluster, target, random, name, size)

    def document(self, kind: str) -> Object:
        """Returns a workload of a kind."""
        spec = {
            "Pod": self._pod_spec, "Job": self._job, "CronJob": self._cron_job, "JobSet": self._job_set,
            "Deployment": self._deployment, "StatefulSet": self._stateful_set,
        }[kind]()  # fmt: skip
        metadata = {"name": self.name, "namespace": self.target.namespace.name, **self._metadata(kind)}
        return {"apiVersion": _APIS.get(kind, "apps/v1"), "kind": kind, "metadata": metadata, "spec": spec}

    def _metadata(self, kind: str) -> Object:
        """Returns labels and annotations of the workload. The Jobs of a CronJob have the queue, not the CronJob."""
        labels, annotations = self._labels(), {}
        if self.target.queue and kind != "CronJob":
            labels |= self._queue_labels()
        if self.random.random() < 0.4:
            annotations["example.com/owner"] = self.random.choice(("team-a", "on-call", "nightly"))
        if kind == "Pod":
            annotations |= self._pod.annotations()
        return {key: value for key, value in (("labels", labels), ("annotations", annotations)) if value}

    def _labels(self) -> dict[str, str]:
        labels = {"app.kubernetes.io/name": self.name}
        if self.random.random() < 0.3:
            labels[COST_LABEL] = str(self.target.tenant.spec.cost_centre)
        if self.random.random() < 0.3:
            labels["app.kubernetes.io/part-of"] = self.random.choice(("search", "llm", "vision"))
        return labels

    def _queue_labels(self) -> dict[str, str]:
        labels = {QUEUE_LABEL: self.target.queue}
        priorities = [*self.cluster.spec.priorities]
        if priorities and self.random.random() < 0.6:
            labels[PRIORITY_LABEL] = self.random.choice(priorities)
        return labels

    def _pod_spec(self) -> Object:
        self.pods = 1
        policy = "Never" if self.target.queue else self.random.choice(("Always", "OnFailure", "Never"))
        return self._pod.spec(policy)

    def _template(self, policy: str, name: str = "") -> Object:
        labels = {"app.kubernetes.io/name": self.name} | ({"example.com/role": name} if name else {})
        annotations = self._pod.annotations()
        metadata: Object = {"labels": labels} | ({"annotations": annotations} if annotations else {})
        return {"metadata": metadata, "spec": self._pod.spec(policy)}

    def _job(self, name: str = "") -> Object:
        random, pods = self.random, self.pods
        spec: Object = {"template": self._template(random.choice(("Never", "Never", "OnFailure")), name)}
        if pods > 1 or random.random() < 0.5:
            spec |= {"parallelism": pods, "completions": pods}
        if pods > 1 and random.random() < 0.2:
            spec["completions"] = pods * 2
        if "completions" in spec and random.random() < 0.6:
            spec["completionMode"] = "Indexed"
        if spec.get("completionMode") == "Indexed" and random.random() < 0.4:
            spec |= {"backoffLimitPerIndex": random.randint(0, 3), "maxFailedIndexes": 0}
        elif random.random() < 0.6:
            spec["backoffLimit"] = random.choice((0, 3, 6))
        if random.random() < 0.4 and spec["template"]["spec"]["restartPolicy"] == "Never":
            rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
            spec["podFailurePolicy"] = {"rules": [rule]}
        for field, values in VALUES["job fields"].items():
            if random.random() < 0.3:
                spec[field] = random.choice(values)
        if self.target.pool.is_gpu:  # the policy queue-required demands it
            spec["podReplacementPolicy"] = "Failed"
        return spec

    def _cron_job(self) -> Object:
        random = self.random
        metadata = {"labels": self._labels() | (self._queue_labels() if self.target.queue else {})}
        spec: Object = {
            "schedule": random.choice(("0 3 * * *", "30 2 * * 1-5", "@daily", "0 0 1 * *", "15 4 * * SUN")),
            "jobTemplate": {"metadata": metadata, "spec": self._job()},
        }
        for field, values in VALUES["cron fields"].items():
            if random.random() < 0.4:
                spec[field] = random.choice(values)
        return spec

    def _job_set(self) -> Object:
        random = self.random
        shares = [("workers", self.pods)]
        if self.pods > 1 and random.random() < 0.5:
            shares = [("leader", 1), ("workers", self.pods - 1)]
        jobs = []
        for name, pods in shares:
            self.pods = pods
            job = self._job(name)
            replicas = 1
            if pods > 1 and random.random() < 0.5:
                replicas, job["parallelism"], job["completions"] = pods, 1, 1
            jobs.append({"name": name, "replicas": replicas, "template": {"spec": job}})
        self.pods = sum(pods for _, pods in shares)
        spec: Object = {"replicatedJobs": jobs}
        if random.random() < 0.5:
            spec["failurePolicy"] = {"maxRestarts": random.randint(0, 3)}
        if random.random() < 0.3:
            spec["successPolicy"] = {"operator": "All", "targetReplicatedJobs": [jobs[-1]["name"]]}
        if random.random() < 0.4:
            spec["network"] = {"enableDNSHostnames": True, "publishNotReadyAddresses": True}
        if random.random() < 0.2:
            spec["suspend"] = random.choice((True, False))
        return spec

    def _replicated(self) -> Object:
        spec: Object = {"selector": {"matchLabels": {"app.kubernetes.io/name": self.name}}}
        if self.pods > 1 or self.random.random() < 0.7:
            spec["replicas"] = self.pods
        return {**spec, "template": self._template("Always")}

    def _deployment(self) -> Object:
        random, spec = self.random, self._replicated()
        if random.random() < 0.6:
            limits = {"maxSurge": random.choice((0, 1)), "maxUnavailable": random.choice((1, "25%"))}
            spec["strategy"] = {"type": "RollingUpdate", "rollingUpdate": limits}
        elif random.random() < 0.3:
            spec["strategy"] = {"type": "Recreate"}
        for field, values in VALUES["deployment fields"].items():
            if random.random() < 0.3:
                spec[field] = random.choice(values)
        return spec

    def _stateful_set(self) -> Object:
        random, spec = self.random, self._replicated()
        spec["serviceName"] = self.name
        if random.random() < 0.5:
            spec["podManagementPolicy"] = random.choice(("Parallel", "OrderedReady"))
        if random.random() < 0.3:
            spec["updateStrategy"] = {"type": random.choice(("OnDelete", "RollingUpdate"))}
        return spec
