"""Checks of the webhooks of JobSet, LeaderWorkerSet, Kubeflow and Ray that are more than a row of a table.

The webhook of Kubeflow Trainer reads the runtime of the TrainJob from the cluster, which gpuc does not.

Source: kubernetes-sigs/jobset v0.12.0 pkg/webhooks/jobset_webhook.go; kubernetes-sigs/lws v0.9.0
pkg/webhooks/leaderworkerset_webhook.go; kubeflow/training-operator v1.9.3 pkg/webhooks, pkg/common/util/webhooks.go
"""

from __future__ import annotations

from math import ceil
from typing import Any

from gpuc.admission.request import Decision
from gpuc.admission.validation.constraints import percentage
from gpuc.admission.validation.field import INT32_MAX, Field, Problems, count_or_one, number, text
from gpuc.kubernetes.dns_name import LABEL_1035, MAX_LABEL, is_label_value
from gpuc.parts.workload_kinds import workload_kind

_CONTAINERS = ("template", "spec", "containers")
SUBGROUP_TOPOLOGY = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"


_CONTAINER_NAMES = {
    "JAXJob": "jax", "PaddleJob": "paddle", "PyTorchJob": "pytorch", "TFJob": "tensorflow", "XGBoostJob": "xgboost",
}  # fmt: skip
"""The name of the container that every replica must have, by kind of the training operator."""
_ROLES = {
    "JAXJob": ("Worker",), **dict.fromkeys(("PaddleJob", "PyTorchJob", "XGBoostJob"), ("Master", "Worker")),
}  # fmt: skip
"""The allowed roles by kind. The webhook allows every role of a TFJob."""


def _replicated_jobs(jobs: Field) -> Problems:
    names: set[str] = set()
    for number_of_job, job in enumerate(jobs.rows()):
        names.add(name := text(job.get("name")))
        if number_of_job == 0 and job.get("dependsOn") is not None:
            yield job.at("dependsOn").problem("the first replicated job cannot have dependsOn", "remove dependsOn")
        if count_or_one(job.get("replicas")) * count_or_one(job.get("template", "spec", "parallelism")) > INT32_MAX:
            yield job.at("replicas").problem(f"replicas times parallelism is more than {INT32_MAX}")
        yield from _generated_names(text(jobs.within("JobSet").get("metadata", "name")), job)
        for dependency in job.rows("dependsOn"):
            if dependency.get("name") not in names:
                message = f"no replicated job before {name} has the name {dependency.get('name')}"
                yield dependency.at("name").problem(message)


def _generated_names(owner: str, job: Field) -> Problems:
    """Checks the longest names of the Jobs and pods, which begin with the name of the JobSet."""
    name, spec, last = text(job.get("name")), job.at("template", "spec"), count_or_one(job.get("replicas")) - 1
    generated = {"Job": f"{owner}-{name}-{last}"}
    completions = number(spec.get("completions"))
    if spec.get("completionMode") == "Indexed" and completions is not None:
        generated["pod"] = f"{owner}-{name}-{last}-{completions - 1}-abcde"
    for kind, longest in generated.items():
        if not LABEL_1035.fullmatch(longest):
            allowed = f"at most {MAX_LABEL} lower-case letters, digits and -, first a letter"
            message = f'a {kind} would have the name "{longest}" with {len(longest)} characters; expected {allowed}'
            yield job.at("name").problem(message)
            return


def _replicated_job(name: Field) -> Problems:
    names = [text(job.get("name")) for job in name.within("JobSet").rows("spec", "replicatedJobs")]
    if name.value not in names:
        yield name.problem(f"the JobSet has no replicated job {name.value}; known: {', '.join(names)}")


def _coordinator(coordinator: Field) -> Problems:
    job_set = coordinator.within("JobSet")
    name, owner = text(coordinator.get("replicatedJob")), text(job_set.get("metadata", "name"))
    job = next((job for job in job_set.rows("spec", "replicatedJobs") if job.get("name") == name), None)
    job_index, pod_index = coordinator.at("jobIndex"), coordinator.at("podIndex")
    job_number, pod_number = job_index.number or 0, pod_index.number or 0
    if job is not None:
        spec = job.at("template", "spec")
        completions = number(spec.get("completions"))
        if not 0 <= job_number < count_or_one(job.get("replicas")):
            yield job_index.reads(job_number).invalid(f"an index of the Jobs of {name}")
        elif completions is None or spec.get("completionMode") != "Indexed":
            message = f"replicated job {name} needs completionMode Indexed and completions"
            yield coordinator.at("replicatedJob").problem(message)
        elif not 0 <= pod_number < completions:
            yield pod_index.reads(pod_number).invalid(f"an index below the {completions} completions of {name}")
    subdomain = text(job_set.get("spec", "network", "subdomain")) or owner
    label = f"{owner}-{name}-{job_number}-{pod_number}.{subdomain}"
    if not is_label_value(label):
        message = f'the label of the coordinator would be "{label}"; at most {MAX_LABEL} characters are allowed'
        yield coordinator.problem(message)


def _volume_claims(policies: Field) -> Problems:
    job_set = policies.within("JobSet")
    names: set[str] = set()
    owner = text(job_set.get("metadata", "name"))
    pods = [job.at("template", "spec", "template", "spec") for job in job_set.rows("spec", "replicatedJobs")]
    containers = [row for pod in pods for field in ("initContainers", "containers") for row in pod.rows(field)]
    mounted = {mount.get("name") for container in containers for mount in container.rows("volumeMounts")}
    for template in (template for policy in policies.rows() for template in policy.rows("templates")):
        field = template.at("metadata", "name")
        name = field.text
        if name in names:
            yield field.problem(f"two templates have the name {name}")
        names.add(name)
        if len(f"{name}-{owner}") > MAX_LABEL:
            limit = f"at most {MAX_LABEL} characters are allowed"
            yield field.problem(f"the claim would have the name {name}-{owner}; {limit}")
        if name not in mounted:
            yield field.problem(f"no container mounts the volume {name}")
        if any(volume.get("name") == name for pod in pods for volume in pod.rows("volumes")):
            yield field.problem(f"a replicated job already has a volume {name}")


def _order_of_jobs(policy: Field) -> Problems:
    has_needs = any(job.get("dependsOn") is not None for job in policy.root.rows("spec", "replicatedJobs"))
    if policy.get("startupPolicyOrder") == "InOrder" and has_needs:
        yield policy.problem("startupPolicyOrder InOrder and dependsOn are both set", "remove dependsOn")


def _replica_specs(document: Field) -> Problems:
    specs = document.at("spec", workload_kind("kubeflow.org", document.get("kind")).templates[0].split(".")[1])
    if specs.value is None:
        yield specs.missing()


def _role_and_container(replica: Field) -> Problems:
    kind = replica.root.get("kind")
    container, roles = _CONTAINER_NAMES[kind], _ROLES.get(kind, (replica.name,))
    if replica.name not in roles:
        yield replica.problem(f"there is no role {replica.name}; expected {' or '.join(roles)}")
    names = [text(row.get("name")) for row in replica.rows(*_CONTAINERS)]
    if container not in names:
        fix = f"write name: {container}" if len(names) == 1 else ""
        yield replica.at(*_CONTAINERS).problem(f"one container must have the name {container}", fix)


def _deletion_strategy(strategy: Field) -> Problems:
    old = [strategy.get(name) is not None for name in ("onSuccess", "onFailure")]
    has_rules = strategy.get("deletionRules") is not None
    if (any(old) and has_rules) or not (all(old) or has_rules):
        yield strategy.problem("expected either onSuccess and onFailure, or deletionRules")


def _runtime(document: Field) -> Problems:
    message = "gpuc does not evaluate the webhook of Kubeflow Trainer, which reads the runtime of the TrainJob"
    yield Decision("unknown", "webhook of Kubeflow Trainer", message, field=("spec", "runtimeRef"))


def _number_of_pods(document: Field) -> Problems:
    replicas, size = document.at("spec", "replicas"), number(document.get("spec", "leaderWorkerTemplate", "size"))
    if (replicas.number or 0) * (size or 1) > INT32_MAX:
        yield replicas.problem(f"replicas times size is more than {INT32_MAX}")


def _can_replace_groups(rolling: Field) -> Problems:
    replicas = number(rolling.within("LeaderWorkerSet").get("spec", "replicas")) or 0
    unavailable = _scaled(rolling.get("maxUnavailable"), replicas)
    surge = _scaled(rolling.get("maxSurge"), replicas, up=True)
    if replicas and unavailable == 0 and surge == 0:
        message = "maxUnavailable and maxSurge are both 0, so that no group can be replaced"
        yield rolling.at("maxUnavailable").problem(message, "write maxUnavailable: 1")


def _scaled(value: Any, total: int, *, up: bool = False) -> int:
    percent = percentage(value)
    if percent is None:
        return number(value) or 0
    return ceil(percent * total / 100) if up else percent * total // 100


def _sub_groups(document: Field) -> Problems:
    template = document.at("spec", "leaderWorkerTemplate")
    policy, size = template.get("subGroupPolicy"), number(template.get("size")) or 1
    if policy is None:
        annotation = document.at("metadata", "annotations", SUBGROUP_TOPOLOGY)
        if annotation.value is not None:
            yield annotation.problem("the annotation needs spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize")
        return
    field = template.at("subGroupPolicy", "subGroupSize")
    own = field.number
    if own is None or own < 1:
        yield field.invalid("1 or more")
    elif own > size:
        yield field.invalid(f"at most the size, {size}")
    elif size % own and (size - 1) % own:
        yield field.invalid(f"a divisor of the size, {size}, or of the number of workers, {size - 1}")
    elif template.get("subGroupPolicy", "subGroupPolicyType") == "LeaderExcluded" and (size - 1) % own:
        yield field.invalid(f"a divisor of the number of workers, {size - 1}, with LeaderExcluded")
