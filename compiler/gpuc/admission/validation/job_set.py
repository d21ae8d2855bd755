"""JobSets: the webhook of JobSet, and the CEL rules of the CustomResourceDefinition that concern new objects.

The API server checks the pod templates later, when the controller creates the Jobs.

Source: kubernetes-sigs/jobset v0.12.0 pkg/webhooks/jobset_webhook.go, api/jobset/v1alpha2/jobset_types.go,
pkg/features/features.go (RestartJob and InPlaceRestart are off by default)
"""

from __future__ import annotations

import re
from typing import Any

from gpuc.admission.validation.problem import (
    INT32_MAX,
    Problem,
    Problems,
    count_or_one,
    dns_label_1035,
    dns_subdomain,
    domain_path,
    invalid,
    number,
    repeated,
    rows,
    text,
)
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.dns_name import LABEL_1035, MAX_LABEL, is_label_value
from gpuc.objects.object_set import dig, items

CHECK = "webhook of JobSet"
_JOBS: Path = ("spec", "replicatedJobs")
_RULE_NAME = re.compile(r"(?=.{1,128}$)[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_REASONS = (
    "BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes", "MaxFailedIndexesExceeded", "PodFailurePolicy",
)  # fmt: skip
_GATED_ACTIONS = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")


def job_set(document: Any) -> Problems:
    """Checks a JobSet, with the defaults of the webhook."""
    spec = dig(document, "spec")
    jobs = [job for _, job in items(dig(spec, "replicatedJobs"))]
    order = dig(spec, "startupPolicy", "startupPolicyOrder")
    if order == "InOrder" and any(dig(job, "dependsOn") is not None for job in jobs):
        yield Problem(
            ("spec", "startupPolicy"), "startupPolicyOrder InOrder and dependsOn are both set", "remove dependsOn"
        )
    for problem in (
        *_network(spec),
        *_replicated_jobs(document, jobs),
        *_policies(spec, jobs),
        *_coordinator(document, jobs),
    ):
        yield problem._replace(check=CHECK)
    for problem in _volume_claims(document, jobs):
        yield problem._replace(check=CHECK)


def _network(spec: Any) -> Problems:
    path: Path = ("spec", "network", "subdomain")
    if text(dig(spec, "network", "subdomain")):
        yield from dns_label_1035(path, dig(spec, "network", "subdomain"))
    yield from domain_path(("spec", "managedBy"), dig(spec, "managedBy"))


def _replicated_jobs(document: Any, jobs: list[Any]) -> Problems:
    names: set[str] = set()
    for index, job in enumerate(jobs):
        path: Path = (*_JOBS, index)
        name, spec = text(dig(job, "name")), dig(job, "template", "spec")
        names.add(name)
        if index == 0 and dig(job, "dependsOn") is not None:
            yield Problem((*path, "dependsOn"), "the first replicated job cannot have dependsOn", "remove dependsOn")
        if count_or_one(dig(job, "replicas")) * count_or_one(dig(spec, "parallelism")) > INT32_MAX:
            yield Problem((*path, "replicas"), f"replicas times parallelism is more than {INT32_MAX}")
        yield from dns_label_1035((*path, "groupName"), dig(job, "groupName"))
        yield from _generated_names(document, path, job)
        for where, dependency in rows(path, job, "dependsOn"):
            if dig(dependency, "name") not in names:
                message = f"no replicated job before {name} has the name {dig(dependency, 'name')}"
                yield Problem((*where, "name"), message)


def _generated_names(document: Any, path: Path, job: Any) -> Problems:
    """Checks the longest names of the Jobs and pods, which begin with the name of the JobSet."""
    owner, name = text(dig(document, "metadata", "name")), text(dig(job, "name"))
    last = count_or_one(dig(job, "replicas")) - 1
    generated = {"Job": f"{owner}-{name}-{last}"}
    completions = number(dig(job, "template", "spec", "completions"))
    if dig(job, "template", "spec", "completionMode") == "Indexed" and completions is not None:
        generated["pod"] = f"{owner}-{name}-{last}-{completions - 1}-abcde"
    for kind, longest in generated.items():
        if not LABEL_1035.fullmatch(longest):
            allowed = f"at most {MAX_LABEL} lower-case letters, digits and -, first a letter"
            message = f'a {kind} would have the name "{longest}" with {len(longest)} characters; expected {allowed}'
            yield Problem((*path, "name"), message)
            return


def _policies(spec: Any, jobs: list[Any]) -> Problems:
    names = [text(dig(job, "name")) for job in jobs]
    for path, name in rows(("spec",), spec, "successPolicy", "targetReplicatedJobs"):
        yield from _known(path, name, names)
    if dig(spec, "failurePolicy", "restartStrategy") == "InPlaceRestart":
        yield Problem(("spec", "failurePolicy", "restartStrategy"), "the feature gate InPlaceRestart is off")
    rules: set[str] = set()
    for path, rule in rows(("spec",), spec, "failurePolicy", "rules"):
        name = text(dig(rule, "name"))
        if dig(rule, "action") in _GATED_ACTIONS:
            yield Problem((*path, "action"), f"{dig(rule, 'action')} needs the feature gate RestartJob, which is off")
        if not _RULE_NAME.fullmatch(name):
            yield invalid((*path, "name"), name, "1 to 128 letters, digits, _, comma and colon, first a letter")
        yield from repeated((*path, "name"), name, rules, f"two rules have the name {name}")
        for where, target in rows(path, rule, "targetReplicatedJobs"):
            yield from _known(where, target, names)
        for where, reason in rows(path, rule, "onJobFailureReasons"):
            if reason not in _REASONS:
                yield invalid(where, reason, " or ".join(_REASONS))


def _known(path: Path, name: Any, names: list[str]) -> Problems:
    if name not in names:
        yield Problem(path, f"the JobSet has no replicated job {name}; known: {', '.join(names)}")


def _coordinator(document: Any, jobs: list[Any]) -> Problems:
    spec = dig(document, "spec")
    coordinator, path = dig(spec, "coordinator"), ("spec", "coordinator")
    if coordinator is None:
        return
    name = text(dig(coordinator, "replicatedJob"))
    job = next((job for job in jobs if dig(job, "name") == name), None)
    job_index, pod_index = (number(dig(coordinator, field)) or 0 for field in ("jobIndex", "podIndex"))
    completions = number(dig(job, "template", "spec", "completions"))
    if job is None:
        yield from _known((*path, "replicatedJob"), name, [text(dig(job, "name")) for job in jobs])
    elif not 0 <= job_index < count_or_one(dig(job, "replicas")):
        yield invalid((*path, "jobIndex"), job_index, f"an index of the Jobs of {name}")
    elif completions is None or dig(job, "template", "spec", "completionMode") != "Indexed":
        yield Problem((*path, "replicatedJob"), f"replicated job {name} needs completionMode Indexed and completions")
    elif not 0 <= pod_index < completions:
        yield invalid((*path, "podIndex"), pod_index, f"an index below the {completions} completions of {name}")
    owner = text(dig(document, "metadata", "name"))
    label = f"{owner}-{name}-{job_index}-{pod_index}.{text(dig(spec, 'network', 'subdomain')) or owner}"
    if not is_label_value(label):
        yield Problem(
            path, f'the label of the coordinator would be "{label}"; at most {MAX_LABEL} characters are allowed'
        )


def _volume_claims(document: Any, jobs: list[Any]) -> Problems:
    names: set[str] = set()
    owner = text(dig(document, "metadata", "name"))
    pods = [dig(job, "template", "spec", "template", "spec") for job in jobs]
    mounted = {
        dig(mount, "name")
        for pod in pods
        for field in ("initContainers", "containers")
        for _, container in items(dig(pod, field))
        for _, mount in items(dig(container, "volumeMounts"))
    }
    for policy_path, policy in rows((), document, "spec", "volumeClaimPolicies"):
        for where, template in rows(policy_path, policy, "templates"):
            path: Path = (*where, "metadata", "name")
            name = text(dig(template, "metadata", "name"))
            yield from dns_subdomain(path, name)
            yield from repeated(path, name, names, f"two templates have the name {name}")
            if len(f"{name}-{owner}") > MAX_LABEL:
                yield Problem(
                    path, f"the claim would have the name {name}-{owner}; at most {MAX_LABEL} characters are allowed"
                )
            if name not in mounted:
                yield Problem(path, f"no container mounts the volume {name}")
            if any(dig(volume, "name") == name for pod in pods for _, volume in items(dig(pod, "volumes"))):
                yield Problem(path, f"a replicated job already has a volume {name}")
            if text(dig(template, "metadata", "namespace")):
                yield Problem((*path[:-1], "namespace"), "a template cannot have a namespace", "remove namespace")
