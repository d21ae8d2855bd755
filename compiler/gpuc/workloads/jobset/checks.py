"""Functions for checks of the JobSet webhooks that the table of checks, jobset.rows, cannot express.

Source: kubernetes-sigs/jobset v0.12.0 pkg/webhooks/jobset_webhook.go
"""

from gpuc.admission.validation.changes import ChangedObject, Refusals
from gpuc.admission.validation.field import INT32_MAX, Field, Problems, count_or_one, number, text
from gpuc.kubernetes.dns_name import LABEL_1035, MAX_LABEL, is_label_value

_TEMPLATE = ("template", "spec", "template")
_SCHEDULING = (
    ("metadata",), ("metadata", "annotations"), ("metadata", "labels"), ("spec", "nodeSelector"),
    ("spec", "tolerations"), ("spec", "schedulingGates"),
)  # fmt: skip
"""The fields of the pod templates that may change while a JobSet is suspended."""


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


def _generate_names_of_rules(rules: Field) -> Problems:
    for index, rule in enumerate(row.value for row in rules.rows()):
        if isinstance(rule, dict) and not rule.get("name"):
            rule["name"] = f"failurePolicyRule{index}"
    yield from ()


def _jobs_unless_suspended(job_set: ChangedObject) -> Refusals:
    """Yields the first changed field of the Jobs, except fields for scheduling if the JobSet is suspended."""
    jobs = [field.path for field in job_set.fields if field.is_below("spec", "replicatedJobs")]
    mutable = _SCHEDULING if True in job_set.values("spec", "suspend") else ()
    changed = [path for path in jobs if path[3:6] != _TEMPLATE or path[6:8] not in mutable]
    yield from ((path, "the Jobs of a JobSet are immutable") for path in changed[:1])
