"""What happens with training jobs on a cluster, each case as a function that returns what went wrong."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from gpuc.kubernetes.kueue import KUEUE_API
from gpuc_rehearsal.client import Object, condition, is_true
from tests.conformance.training_plane import (
    NODE_CONTAINER,
    RAY_CLUSTER,
    RUNTIME,
    SECONDS,
    TrainingPlane,
    uids,
)

Case = Callable[[TrainingPlane], str]
PORT = "29500"
LOST = 1
"""The index of the pod whose node is lost."""
IMMUTABLE = "field is immutable"
"""What Kueue logs when it cannot start a TrainJob.

Source: kubeflow/trainer v2.3.0 pkg/apis/trainer/v1alpha1/trainjob_types.go
"""


def survives(run: str, nodes: int, name: str = "") -> Case:
    """Returns the case of a TrainJob that gets its nodes, loses one of them, starts again, and completes."""

    def case(plane: TrainingPlane) -> str:
        document = plane.train_job(run, nodes, name)
        answer = plane.trace(document)
        problems = [] if answer.verdict == "yes" else [f"gpuc trace: {answer}"]
        created = plane.create(document)
        pods = plane.running(created, nodes)
        problems += _differences(plane, created, pods, nodes)
        plane.lose_node(pods[LOST])
        again = plane.running(created, nodes, uids(pods))
        status = plane.job_set(created)["status"]
        restarts = status.get("restarts", 0), status.get("restartsCountTowardsMax", 0)
        problems += [] if restarts == (1, 0) else [f"restarts, and those that count: {restarts}; expected (1, 0)"]
        problems += _differences(plane, created, again, nodes)
        plane.finish(created)
        plane.context.until(f"completion of {run}", lambda: is_true(plane.now(created), "Complete"), SECONDS)
        plane.note = f"{nodes} nodes; restarts {restarts[0]}, of which {restarts[1]} count"
        return "; ".join(problems)

    return case


def _differences(plane: TrainingPlane, created: Object, pods: list[Object], nodes: int) -> list[str]:
    """Returns how the pods of a TrainJob differ from the runtime, the flavor and the variables of torchrun."""
    name, run = created["metadata"]["name"], plane.runs[created["spec"]["runtimeRef"]["name"]]
    runtime = plane.client.get(*RUNTIME, run.name, run.namespace.name)
    template = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    (wanted,) = template["containers"]
    flavor = plane.client.get(KUEUE_API, "ResourceFlavor", run.pool.name)["spec"]
    variables = {row["name"]: row.get("value") for row in wanted.get("env", ())} | {
        "PET_NNODES": str(nodes), "PET_NPROC_PER_NODE": "auto", "PET_MASTER_ADDR": f"{name}-node-0-0.{name}",
        "PET_MASTER_PORT": PORT,
    }  # fmt: skip
    found, ranks = [], set()
    for pod in pods:
        (container,) = (row for row in pod["spec"]["containers"] if row["name"] == NODE_CONTAINER)
        actual = {row["name"]: row.get("value") for row in container["env"]}
        found += [
            f"{key} {actual.get(key)!r}, not {value!r}" for key, value in variables.items() if actual.get(key) != value
        ]
        ranks.add(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"])
        found += [] if "PET_NODE_RANK" in actual else ["PET_NODE_RANK is missing"]
        found += [] if container["resources"] == wanted["resources"] else [f"resources {container['resources']}"]
        lacks = [row for row in flavor.get("tolerations", ()) if row not in pod["spec"]["tolerations"]]
        found += [f"the tolerations of the flavor are missing: {lacks}"] if lacks else []
    found += [] if len(ranks) == nodes else [f"ranks {sorted(ranks)}"]
    hosts = {pod["spec"]["nodeName"] for pod in pods}
    found += [] if len(hosts) == nodes else [f"{len(hosts)} nodes for {nodes} pods"]
    pools = plane.context.pools_of(pods)
    found += [] if pools == run.pool.name else [f"the nodes are of pool {pools}"]
    return list(dict.fromkeys(found))


def stays_suspended(run: str) -> Case:
    """Returns the case of a TrainJob with an empty list: Kueue admits it, and cannot start it."""

    def case(plane: TrainingPlane) -> str:
        document: Any = plane.train_job(run, 2, env=[])
        answer = plane.trace(document)
        before = plane.kueue_log.read_text(encoding="utf-8", errors="replace").count(IMMUTABLE)
        created = plane.create(document)

        def is_refused() -> bool:
            count = plane.kueue_log.read_text(encoding="utf-8", errors="replace").count(IMMUTABLE)
            return count > before + 2 and is_true(plane.workload(created), "Admitted")

        plane.context.until("attempts of Kueue to start the TrainJob", is_refused, SECONDS)
        problems = [] if plane.now(created)["spec"].get("suspend") else ["the TrainJob is not suspended"]
        problems += ["it has pods"] if plane.pods(created) else []
        is_foreseen = answer.verdict == "no" and "empty list env" in answer.message
        problems += [] if is_foreseen else [f"gpuc trace: {answer}"]
        return "; ".join(problems)

    return case


def lacks_variables(run: str) -> Case:
    """Returns the case of a TrainJob without spec.trainer, whose pods get no variables of torchrun."""

    def case(plane: TrainingPlane) -> str:
        document = plane.train_job(run, None)
        answer, created = plane.trace(document), plane.create(document)
        (pod,) = plane.running(created, 1)
        names = {row["name"] for row in pod["spec"]["containers"][0].get("env", ())}
        found = sorted(name for name in names if name.startswith("PET_") and name != "PET_RDZV_CONF")
        problems = [f"the pod has {found}"] if found else []
        problems += [] if "no PET_ variables" in answer.message else [f"gpuc trace: {answer}"]
        return "; ".join(problems)

    return case


def waits(run: str, nodes: int) -> Case:
    """Returns the case of a TrainJob that needs more nodes than its queue can have."""

    def case(plane: TrainingPlane) -> str:
        document = plane.train_job(run, nodes)
        answer, created = plane.trace(document), plane.create(document)
        message = plane.waiting(created)
        sentences = answer.message.split("; ")
        is_foreseen = (answer.verdict, answer.by) == ("no", "Kueue") and all(row in message for row in sentences)
        problems = [] if is_foreseen else [f"Kueue: {message}; gpuc trace: {answer}"]
        plane.note = f"{len(sentences)} equal sentences, the first: {sentences[0]}"
        problems += ["it has pods"] if plane.pods(created) else []
        return "; ".join(problems)

    return case


def evicts(run: str, nodes: int) -> Case:
    """Returns the case of three TrainJobs for two places: the highest priority evicts the lowest of the queue."""

    def case(plane: TrainingPlane) -> str:
        ranks = {name: plane.train_job(run, nodes, f"{run}-{name}", name) for name in ("low", "normal", "high")}
        answers = {name: plane.trace(document) for name, document in ranks.items()}
        problems = [f"gpuc trace of {name}: {row}" for name, row in answers.items() if row.verdict != "yes"]
        low, normal = plane.create(ranks["low"]), plane.create(ranks["normal"])
        plane.running(low, nodes)
        kept = plane.running(normal, nodes)
        high = plane.create(ranks["high"])
        plane.running(high, nodes)
        evicted = condition(plane.workload(low), "Evicted")
        problems += [] if evicted.get("reason") == "Preempted" else [f"the low job: {evicted}"]
        plane.context.until("no pods of the low job", lambda: not plane.pods(low), SECONDS)
        problems += [] if uids(plane.pods(normal)) == uids(kept) else ["the normal job has other pods"]
        plane.note = str(evicted.get("message"))
        return "; ".join(problems)

    return case


def runs_ray(file: str) -> Case:
    """Returns the case of the template of a RayJob: its Ray cluster begins after the admission."""

    def case(plane: TrainingPlane) -> str:
        document = plane.template(file)
        answer, created = plane.trace(document), plane.create(document)
        find = partial(plane.owned, created, *RAY_CLUSTER)
        (cluster,) = plane.context.until("a RayCluster", find, SECONDS)
        workload = plane.workload(created)
        problems = [] if is_true(workload, "Admitted") else ["the RayCluster exists before the admission"]
        admitted = str(condition(workload, "Admitted").get("lastTransitionTime"))
        if cluster["metadata"]["creationTimestamp"] < admitted:
            problems.append(f"the RayCluster is older than the admission at {admitted}")
        replicas = sum(group["replicas"] for group in created["spec"]["rayClusterSpec"]["workerGroupSpecs"])

        def bound() -> list[Object]:
            pods = plane.pods(cluster, "ray.io/cluster")
            found = [pod for pod in pods if pod["spec"].get("nodeName")]
            return found if len(found) == 1 + replicas else []

        pods = plane.context.until(f"nodes for the head and {replicas} workers", bound, SECONDS)
        hosts = {pod["spec"]["nodeName"] for pod in pods}
        problems += [] if len(hosts) == len(pods) else [f"{len(pods)} pods on {len(hosts)} nodes"]
        problems += [] if answer.verdict == "yes" else [f"gpuc trace: {answer}"]
        return "; ".join(problems)

    return case


CASES: Mapping[str, Mapping[str, Case]] = {
    "prod-use1": {
        "a TrainJob of 16 nodes loses a node, starts again without spending a restart, and completes": survives(
            "pretrain", 16
        ),
        "a TrainJob with an empty list stays suspended (D3)": stays_suspended("pretrain"),
        "a TrainJob without spec.trainer gets no variables of torchrun (D2)": lacks_variables("pretrain"),
        "a TrainJob of 17 nodes waits, as gpuc trace says": waits("pretrain", 17),
        "a job of a higher priority evicts the job of the lowest priority in its queue": evicts("finetune", 4),
        "the template of a RayJob starts a Ray cluster after its admission": runs_ray("batch-a100.rayjob"),
    },
    "train-usw2": {
        "a TrainJob of 20 nodes loses a pod, starts again without spending a restart, and completes": survives(
            "flagship", 20
        ),
        "a TrainJob of 4 nodes loses a pod, starts again without spending a restart, and completes": survives(
            "ablation", 4
        ),
        "a TrainJob of 33 nodes waits, as gpuc trace says": waits("flagship", 33),
    },
}
"""The cases of each example cluster, by what they prove."""
