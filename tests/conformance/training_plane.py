"""A control plane with the training runtimes of an example cluster, and the jobs of its tenants."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from gpuc.documents.reader import load_all_yaml
from gpuc.kubernetes.kueue import KUEUE_API, PRIORITY_LABEL
from gpuc.kubernetes.node_pool import NODE_POOL
from gpuc.manifest.manifest import manifest_of
from gpuc.model.tenant import Run
from gpuc.trace import ClusterIndex
from gpuc.trace.node_agents import index_of
from gpuc_rehearsal.client import Client, Object, address_of, condition, event_time, is_true, new_object
from gpuc_rehearsal.context import EVENT, HOLD, NODE, POD, RehearsalContext
from gpuc_rehearsal.substrates.eks.karpenter import CLAIM
from tests.conformance.compared_plane import member
from tests.conformance.compared_workloads import trace_answer
from tests.conformance.real_answers import Answer
from tests.conftest import ROOT

SECONDS = 300
"""The longest wait for a state on a busy machine."""
TRAINER_API, JOBSET_API = "trainer.kubeflow.org/v1alpha1", "jobset.x-k8s.io/v1alpha2"
TRAIN_JOB, JOB_SET, RAY_CLUSTER = (TRAINER_API, "TrainJob"), (JOBSET_API, "JobSet"), ("ray.io/v1", "RayCluster")
RUNTIME = (TRAINER_API, "TrainingRuntime")
JOBSET_LABEL = "jobset.sigs.k8s.io/jobset-name"
NODE_CONTAINER = "node"
EVENTS = 40
"""The number of events that explain a failed case."""
VOLUME = ("v1", "PersistentVolume")
HOSTNAME = "kubernetes.io/hostname"
CLAIM_OF_VOLUME = ("v1", "PersistentVolumeClaim")


@dataclass
class TrainingPlane:
    """The applied cluster. The pods of its runtimes run until `finish`."""

    context: RehearsalContext
    kueue_log: Path
    name: str
    note: str = ""
    """What the last case measured."""
    _members: dict[str, Client] = field(default_factory=dict)

    @property
    def client(self) -> Client:
        return self.context.client

    @cached_property
    def runs(self) -> dict[str, Run]:
        """The training runtimes of all tenants by name."""
        return {run.name: run for tenant in self.context.cluster.tenants for run in tenant.runs}

    def prepare(self) -> None:
        """Makes the pods of the runtimes run until `finish`, and creates the claims of the checkpoints.

        The nodes of static pools get their names as host names, as in a cluster. Otherwise Kueue evicts a gang,
        whatever its feature gates, because no node has the name of the host.

        Source: kueue v0.19.2 pkg/controller/tas/node_controller.go (Reconcile, which events of pods call)
        """
        for node in self.client.list_all(*NODE):
            self.client.patch_object(
                {"apiVersion": NODE[0], "kind": NODE[1], **node},
                {"metadata": {"labels": {HOSTNAME: node["metadata"]["name"]}}},
            )
        for run in self.runs.values():
            runtime = self.client.get(*RUNTIME, run.name, run.namespace.name)
            (job,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
            metadata = job["template"]["spec"]["template"].setdefault("metadata", {})
            metadata["annotations"] = metadata.get("annotations", {}) | HOLD
            self.client.patch_object(runtime, {"spec": runtime["spec"]})
        places = {
            (run.namespace.name, run.spec.checkpoints.claim) for run in self.runs.values() if run.spec.checkpoints
        }
        for namespace, claim in places:
            self._create_claim(namespace, claim)

    def _create_claim(self, namespace: str, name: str) -> None:
        """Creates a claim of a file system, and its volume, as an administrator does."""
        size, volume = {"storage": "1Gi"}, f"{namespace}-{name}"
        shared = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
        reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": name}
        nfs = {"server": "files.example.com", "path": f"/{name}"}
        spec: Object = {**shared, "capacity": size, "claimRef": reference, "nfs": nfs}
        self.client.create(new_object(*VOLUME, volume, spec=spec))
        spec = {**shared, "resources": {"requests": size}, "volumeName": volume}
        self.client.create(new_object(*CLAIM_OF_VOLUME, name, namespace, spec=spec))
        is_bound: Callable[[Object], bool] = lambda claim: claim.get("status", {}).get("phase") == "Bound"  # noqa: E731
        self.client.wait_for(*CLAIM_OF_VOLUME, name, is_bound, SECONDS, namespace)

    def template(self, file: str) -> Object:
        """Returns the object of an emitted template, by its file below workloads/."""
        path = ROOT / "out" / self.name / "workloads" / f"{file}.yaml"
        (document,) = load_all_yaml(path.read_text(encoding="utf-8"))
        return dict(document)

    def train_job(self, run: str, nodes: int | None, name: str = "", priority: str = "", **trainer: Any) -> Object:
        """Returns the emitted TrainJob of a runtime.

        Args:
            nodes: the number of nodes; None removes spec.trainer.
            name, priority: replace those of the template.
            trainer: further fields of spec.trainer.
        """
        tenant = next(row for row in self.context.cluster.tenants if self.runs[run] in row.runs)
        document = self.template(f"{tenant.name}/{run}")
        document["metadata"]["name"] = name or run
        if priority:
            document["metadata"]["labels"][PRIORITY_LABEL] = priority
        if nodes is None:
            del document["spec"]["trainer"]
        else:
            document["spec"]["trainer"] |= {"numNodes": nodes, **trainer}
        return document

    def trace(self, document: Object) -> Answer:
        """Returns the answer of `gpuc trace -f` with the claims and volumes of the checkpoints in the file."""
        return trace_answer(self._index, document)

    @cached_property
    def _index(self) -> ClusterIndex:
        volumes = [
            manifest_of({"apiVersion": api, "kind": kind, **row})
            for api, kind in (VOLUME, CLAIM_OF_VOLUME)
            for row in self.client.list_all(api, kind)
        ]
        spec = self.context.spec
        return index_of(spec.cluster, (*spec.synced, *volumes), spec.charts)

    def create(self, document: Object) -> Object:
        """Creates an object as a member of the tenant."""
        namespace = document["metadata"]["namespace"]
        tenants = self.context.cluster.tenants
        tenant = next(row for row in tenants if namespace in [item.name for item in row.namespaces])
        if tenant.name not in self._members:
            self._members[tenant.name] = self.client.impersonate(member(tenant.name), tenant.groups[0])
        return self._members[tenant.name].create(document)

    def now(self, document: Object) -> Object:
        """Returns the present state of an object."""
        return self.client.get(*address_of(document))

    def job_set(self, document: Object) -> Object:
        metadata = document["metadata"]
        return self.client.get(*JOB_SET, metadata["name"], metadata["namespace"])

    def pods(self, document: Object, label: str = JOBSET_LABEL) -> list[Object]:
        """Returns the pods of a TrainJob that do not end."""
        metadata = document["metadata"]
        found = self.client.list_all(*POD, metadata["namespace"], f"{label}={metadata['name']}")
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def owned(self, created: Object, api: str, kind: str) -> list[Object]:
        """Returns the objects of a kind that an object owns."""
        uid = created["metadata"]["uid"]
        rows = self.client.list_all(api, kind, created["metadata"]["namespace"])
        return [row for row in rows if uid in {owner["uid"] for owner in row["metadata"].get("ownerReferences", ())}]

    def workload(self, created: Object) -> Object:
        """Returns the Workload of an object; an empty object until Kueue has created it."""
        return next(iter(self.owned(created, KUEUE_API, "Workload")), {})

    def running(self, created: Object, count: int, without: frozenset[str] = frozenset()) -> list[Object]:
        """Waits until a number of pods is ready, none of them with one of the uids; returns the pods."""

        def ready() -> list[Object]:
            pods = [pod for pod in self.pods(created) if is_true(pod, "Ready")]
            return pods if len(pods) == count and not without & uids(pods) else []

        return self.context.until(f"{count} ready pods of {created['metadata']['name']}", ready, SECONDS)

    def waiting(self, created: Object) -> str:
        """Waits until Kueue does not admit a workload; returns its message."""

        def message() -> str:
            found = condition(self.workload(created), "QuotaReserved")
            return str(found.get("message", "")) if found.get("status") == "False" else ""

        return self.context.until(f"a message about {created['metadata']['name']}", message, SECONDS)

    def lose_node(self, pod: Object) -> None:
        """Ends a pod as a kubelet does whose node shuts down. Without a static pool, the node and its claim go too.

        Source: kubernetes/kubernetes v1.35.4 pkg/kubelet/nodeshutdown/nodeshutdown_manager.go (TerminationByKubelet)
        """
        target = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}
        others = [row for row in pod["status"]["conditions"] if row["type"] not in ("Ready", target["type"])]
        status = {"phase": "Failed", "reason": "Terminated", "conditions": [*others, target]}
        self.client.patch_object(pod, {"status": status}, "status")
        labels = self.client.get(*NODE, pod["spec"]["nodeName"])["metadata"]["labels"]
        pool = next(row for row in self.context.cluster.pools if row.name == labels.get(NODE_POOL, row.name))
        if not pool.always_running:
            for claim in self._claims(pod["spec"]["nodeName"]):
                self.client.delete_object(claim)

    def _claims(self, node: str) -> Iterator[Object]:
        rows = self.client.list_all(*CLAIM)
        return (claim for claim in rows if claim.get("status", {}).get("nodeName") == node)

    def finish(self, created: Object) -> None:
        """Lets all pods complete."""
        for pod in self.pods(created):
            self.client.patch_object(pod, {"metadata": {"annotations": dict.fromkeys(HOLD)}})

    def events(self) -> list[str]:
        """Returns what controllers did with the workloads of tenants, without the events of pods and nodes."""
        rows = [row for space in self.context.namespaces for row in self.client.list_all(*EVENT, space)]
        return [
            f"{event_time(row)} {row['involvedObject']['kind']} {row['reason']}: {row['message'][:300]}"
            for row in sorted(rows, key=event_time)
            if row["involvedObject"]["kind"] not in ("Pod", "Node")
        ][-EVENTS:]

    def clear(self) -> None:
        """Removes all workloads and the nodes that they started."""
        self.note = ""
        kinds = [kind for kind in (TRAIN_JOB, ("ray.io/v1", "RayJob"), RAY_CLUSTER) if self.client.serves(*kind)]
        for kind in kinds:
            for namespace in self.context.namespaces:
                self.client.delete_all(*kind, namespace)
        for kind in kinds:
            self.context.until(f"no {kind[1]}", lambda: not self.client.list_all(*kind), SECONDS)  # noqa: B023
        self.context.clear()


def uids(pods: list[Object]) -> frozenset[str]:
    """Returns the uids of pods."""
    return frozenset(str(pod["metadata"]["uid"]) for pod in pods)
