"""Predicts the JobSet that Kubeflow Trainer creates from a TrainJob and its runtime, and finds problems in both.

Source: kubeflow/trainer v2.3.0 pkg/runtime/core/trainingruntime.go (RuntimeInfo, mergeRuntimePatches),
pkg/runtime/framework/plugins/torch/torch.go, pkg/runtime/framework/plugins/jobset/{jobset,builder}.go
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import count_or, dig, items, pairs
from gpuc.parts.workload_kind import Find, Problem, Resolved, name_of

GROUP = "trainer.kubeflow.org"
ANCESTOR = f"{GROUP}/trainjob-ancestor-step"
"""The label of the Job whose pods are the nodes. Without it, numNodes of a TrainJob has no effect."""
_NODE = "node"
_RESERVED = tuple(f"PET_{name}" for name in ("NNODES", "NPROC_PER_NODE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"))
_TRAINER: Path = ("spec", "trainer")
_PATCHES: Path = ("spec", "runtimePatches")
_ALONE = "the pods start, but do not train together"


def resolved(train_job: Body, find: Find) -> Resolved:
    """Returns the JobSet that Kubeflow Trainer creates from a TrainJob, and problems of the TrainJob and its runtime.

    Args:
        find: returns an object by API group, kind, name and namespace.
    """
    reference = dig(train_job, "spec", "runtimeRef")
    kind, name = str(dig(reference, "kind") or "ClusterTrainingRuntime"), str(dig(reference, "name"))
    namespace = "" if kind == "ClusterTrainingRuntime" else str(dig(train_job, "metadata", "namespace") or "")
    runtime = find(str(dig(reference, "apiGroup") or GROUP), kind, name, namespace)
    if runtime is None:
        message = f"{kind} {name} does not exist, so Kubeflow Trainer refuses the TrainJob"
        return Resolved(None, (Problem(message, "", ("spec", "runtimeRef"), is_refused=True),))
    spec = deepcopy(dig(runtime, "spec", "template", "spec"))
    jobs = [job for _, job in items(dig(spec, "replicatedJobs")) if isinstance(job, dict)]
    names = {str(dig(job, "name")) for job in jobs}
    problems = [*_of_trainer(train_job, runtime, jobs), *_of_patches(train_job, jobs, names)]
    for _, patch in items(dig(train_job, *_PATCHES)):
        for _, row in items(dig(patch, "trainingRuntimeSpec", "template", "spec", "replicatedJobs")):
            for job in jobs:
                if dig(job, "name") == dig(row, "name"):
                    job["template"] = _merged(dig(job, "template"), dig(row, "template") or {})
    for job in jobs:
        _complete(job, train_job, runtime)
    template = dict(pairs(dig(runtime, "spec", "template", "metadata")))
    metadata: Body = {key: template[key] for key in ("labels", "annotations") if key in template}
    metadata |= {"name": name_of(train_job), "namespace": dig(train_job, "metadata", "namespace")}
    body = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec}
    return Resolved(body, tuple(problems))


def of_runtime(runtime: Body) -> Iterator[Problem]:
    """Yields a problem if no Job of a PyTorch runtime has the label by which Kubeflow Trainer finds the training pods.

    Source: kubeflow/trainer v2.3.0 pkg/webhooks/trainingruntime_webhook.go
    """
    path: Path = ("spec", "template", "spec", "replicatedJobs")
    has_nodes = any(_is_trainer(job) for _, job in items(dig(runtime, *path)))
    if dig(runtime, "spec", "mlPolicy", "torch") is not None and not has_nodes:
        yield Problem(f"no replicated job has the label {ANCESTOR}: trainer", "", path)


def _complete(job: Body, train_job: Body, runtime: Body) -> None:
    """Writes the number of nodes and the container of the TrainJob into a replicated job of its runtime."""
    spec, trainer = dig(job, "template", "spec"), dig(train_job, *_TRAINER)
    if not isinstance(spec, dict):
        return
    is_trainer = _is_trainer(job)
    of_runtime = dig(runtime, "spec", "mlPolicy", "numNodes") if is_trainer else spec.get("parallelism")
    chosen = dig(trainer, "numNodes") if is_trainer else None
    spec["parallelism"] = spec["completions"] = count_or(of_runtime if chosen is None else chosen, 1)
    if not is_trainer:
        return
    job["replicas"] = 1
    for _, container in items(dig(spec, "template", "spec", "containers")):
        if dig(container, "name") == _NODE and isinstance(trainer, dict):
            container |= {key: trainer[key] for key in ("image", "command", "args") if trainer.get(key)}
            container["env"] = _merged(container.get("env") or [], trainer.get("env") or [])
            if per_node := trainer.get("resourcesPerNode"):
                container["resources"] = per_node


def _is_trainer(job: Body) -> bool:
    return bool(dig(job, "template", "metadata", "labels", ANCESTOR) == "trainer")


def _of_trainer(train_job: Body, runtime: Body, jobs: list[Body]) -> Iterator[Problem]:
    """Yields what is wrong with spec.trainer of a TrainJob."""
    trainer, name, has_torch = dig(train_job, *_TRAINER), name_of(runtime), dig(runtime, "spec", "mlPolicy", "torch")
    nodes = dig(trainer, "numNodes")
    if has_torch is not None and trainer is None:
        message = "without spec.trainer, the pods get no PET_ variables: each of them trains alone"
        yield Problem(message, "write spec.trainer.numNodes", ("spec",), outcome=_ALONE)
    if nodes == 0:
        yield Problem("numNodes 0 starts no pods, and the TrainJob is complete at once", "", (*_TRAINER, "numNodes"))
    elif nodes is not None and not any(map(_is_trainer, jobs)):
        message = f"no replicated job of runtime {name} has the label {ANCESTOR}: trainer, so numNodes has no effect"
        yield Problem(message, f"set the label in runtime {name}", (*_TRAINER, "numNodes"), outcome=_ALONE)
    for key, value in pairs(trainer):
        if value == []:
            message = f"the empty list {key} keeps the TrainJob suspended: Kueue up to 0.19.2 cannot start it"
            yield Problem(message, f"remove {key}", (*_TRAINER, key))
    for index, variable in items(dig(trainer, "env")):
        if has_torch is not None and dig(variable, "name") in _RESERVED:
            message = f"Kubeflow Trainer sets {dig(variable, 'name')}, and refuses it in a TrainJob"
            yield Problem(message, "remove the variable", (*_TRAINER, "env", index), is_refused=True)


def _of_patches(train_job: Body, jobs: list[Body], names: set[str]) -> Iterator[Problem]:
    """Yields the patches that the webhook of Kubeflow Trainer refuses, and those that change a number of pods."""
    at: Path = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")
    for number, patch in items(dig(train_job, *_PATCHES)):
        for index, row in items(dig(patch, *at)):
            path = (*_PATCHES, number, *at, index)
            if str(dig(row, "name")) not in names:
                message = f"the runtime has no replicated job {dig(row, 'name')}; known: {', '.join(sorted(names))}"
                yield Problem(message, "", (*path, "name"), is_refused=True)
                continue
            job = next(job for job in jobs if dig(job, "name") == dig(row, "name"))
            below: Path = ("template", "spec", "template", "spec")
            for field in ("initContainers", "containers"):
                known = {dig(item, "name") for _, item in items(dig(job, *below, field))}
                for place, container in items(dig(row, *below, field)):
                    where, name = (*path, *below, field, place), dig(container, "name")
                    if name not in known:
                        yield Problem(f"the runtime has no container {name}", "", where, is_refused=True)
                    elif dig(container, "env") and name in (_NODE, "dataset-initializer", "model-initializer"):
                        message = f"Kubeflow Trainer refuses env of container {name} in runtimePatches"
                        yield Problem(message, "write it in spec.trainer.env", (*where, "env"), is_refused=True)


def _merged(base: Any, patch: Any) -> Any:
    """Returns a value with a strategic merge patch: maps by key, lists of named maps by name; other lists are replaced.

    Source: kubernetes/apimachinery v0.36 pkg/util/strategicpatch; k8s.io/api core/v1 (patchMergeKey)
    """
    if isinstance(base, dict) and isinstance(patch, dict):
        return {**base, **{key: _merged(base.get(key), value) for key, value in patch.items()}}
    if isinstance(base, list) and isinstance(patch, list) and all(dig(row, "name") for row in (*base, *patch)):
        rows = {row["name"]: row for row in base}
        return list((rows | {row["name"]: _merged(rows.get(row["name"]), row) for row in patch}).values())
    return patch
