"""Functions for checks and defaults of Volcano's webhooks that the table of checks, volcano.rows, cannot express.

Source: volcano-sh/volcano v1.15.1 pkg/webhooks/admission/jobs/{validate,mutate},
pkg/controllers/job/plugins/factory.go, pkg/controllers/job/plugins/distributed-framework/mpi/mpi.go
"""

from collections.abc import Iterator
from copy import deepcopy
from itertools import pairwise

from gpuc.admission.validation.all_tables import tables
from gpuc.admission.validation.changes import ChangedObject, Refusals
from gpuc.admission.validation.constraints import one_of
from gpuc.admission.validation.field import Field, Problems, number, text
from gpuc.kubernetes.dns_name import MAX_LABEL
from gpuc.kubernetes.quantity import quantity

_PLUGINS = ("ssh", "env", "svc", "tensorflow", "mpi", "pytorch", "hcclrank", "ray")
_MUTABLE = ("replicas", "minAvailable")
_MAX_RETRY = 3


def _count(value: object) -> int:
    """Returns a number of pods or groups, which is 0 if the field is missing."""
    return number(value) or 0


def _available_pods(spec: Field) -> Problems:
    total = sum(_count(task.get("replicas")) for task in spec.rows("tasks"))
    if _count(spec.get("minAvailable")) > total:
        yield spec.at("minAvailable").invalid(f"at most the sum of the replicas of all tasks, {total}")


def _available_pods_of_task(task: Field) -> Problems:
    replicas = _count(task.get("replicas"))
    if _count(task.get("minAvailable")) > replicas:
        yield task.at("minAvailable").invalid(f"at most the replicas of the task, {replicas}")


def _names_of_pods_of_tasks(tasks: Field) -> Problems:
    owner = text(tasks.root.get("metadata", "name"))
    for index, task in enumerate(tasks.rows()):
        name = f"{owner}-{text(task.get('name'))}-{index}"
        if len(name) > MAX_LABEL:
            message = f"a pod would have the name {name}; at most {MAX_LABEL} characters are allowed"
            yield task.at("name").problem(message)


def _dependencies_of_tasks(tasks: Field) -> Problems:
    """Checks that an order exists in which tasks can start.

    If a task names another task twice, the webhook counts it twice.
    """
    waiting = {text(task.get("name")): task.at("dependsOn", "name") for task in tasks.rows()}
    started: set[str] = set()
    while ready := [name for name, needs in waiting.items() if {*_texts(needs)} <= started]:
        started.update(ready)
        for name in ready:
            names = [*_texts(needs := waiting.pop(name))]
            if len({*names}) < len(names):
                yield needs.problem(f"task {name} names a task twice")
    for name, needs in waiting.items():
        missing = [other for other in _texts(needs) if other not in started and other not in waiting]
        reason = f"the Job has no task {missing[0]}" if missing else f"task {name} waits for itself through other tasks"
        yield needs.problem(reason)


def _texts(names: Field) -> Iterator[str]:
    return (text(name.value) for name in names.rows())


def _partitions_of_task(task: Field) -> Problems:
    policy = task.at("partitionPolicy")
    total, size, least = (_count(policy.get(name)) for name in ("totalPartitions", "partitionSize", "minPartitions"))
    if policy.value is None or total < 1 or size < 1:
        return
    if _count(task.get("replicas")) != total * size:
        yield task.at("replicas").invalid(f"totalPartitions times partitionSize, {total * size}")
    elif least > 0 and _count(task.get("minAvailable")) != least * size:
        yield task.at("minAvailable").invalid(f"minPartitions times partitionSize, {least * size}")


def _whole_cores(task: Field) -> Problems:
    if task.get("topologyPolicy") in (None, "", "none"):
        return
    for container in (row for name in ("containers", "initContainers") for row in task.rows("template", "spec", name)):
        resources = container.at("resources")
        field = resources.at("requests" if resources.get("requests") else "limits", "cpu")
        cores = quantity(field.value)
        if not cores or cores.denominator != 1:
            yield field.problem(f"topologyPolicy needs a whole number of CPU cores in {field.holder}")


def _defaults_of_template(template: Field) -> Field:
    changed = template.reads(deepcopy(template.value))
    tables().problems("defaults of pods", Field((), changed.get("spec")))
    return changed


def _exit_codes_of_policies(policies: Field) -> Problems:
    found: set[int] = set()
    for policy in policies.rows():
        code = policy.at("exitCode")
        if code.number in found:
            yield code.problem(f"two policies have the exitCode {code.number}")
        found.update(() if code.number is None else (code.number,))


def _events_of_policies(policies: Field) -> Problems:
    found: set[str] = set()
    for policy in policies.rows():
        events = {*_texts(policy.at("events")), text(policy.get("event"))} - {""}
        if both := sorted(events & found):
            yield policy.problem(f"two policies have the event {both[0]}")
        found |= events
    if "*" in found and len(found) > 1:
        yield policies.problem("the event * includes all events; expected no other event")


def _plugins_of_volcano(plugins: Field) -> Problems:
    for name, arguments in plugins.entries():
        yield from one_of(arguments.reads(name), _PLUGINS)


def _master_of_mpi(plugins: Field) -> Problems:
    arguments = plugins.at("mpi")
    if arguments.value is None:
        return
    master = _flag([*_texts(arguments)], "master") or "master"
    names = [text(task.get("name")) for task in plugins.root.rows("spec", "tasks")]
    if master not in names:
        yield arguments.problem(f"the Job has no task {master}, the master of MPI; known: {', '.join(names)}")


def _flag(arguments: list[str], name: str) -> str:
    """Returns the last value of a flag: --name=value, or --name and the value in the next argument."""
    found = ""
    for argument, following in pairwise([*arguments, ""]):
        flag, equals, value = argument.partition("=")
        if flag in (f"-{name}", f"--{name}"):
            found = value if equals else following
    return found


def _generate_names_of_tasks(tasks: Field) -> Problems:
    for index, task in enumerate(row.value for row in tasks.rows()):
        if isinstance(task, dict) and not task.get("name"):
            task["name"] = f"default{index}"
    yield from ()


def _generate_available_pods_of_tasks(tasks: Field) -> Problems:
    for task in tasks.rows():
        if isinstance(task.value, dict) and task.get("minAvailable") is None:
            policy = task.at("partitionPolicy")
            least = _count(policy.get("minPartitions")) * _count(policy.get("partitionSize"))
            task.value["minAvailable"] = least or _count(task.get("replicas"))
    yield from ()


def _generate_available_pods(spec: Field) -> Problems:
    if isinstance(spec.value, dict) and not spec.get("minAvailable"):
        spec.value["minAvailable"] = sum(_count(task.get("minAvailable")) for task in spec.rows("tasks"))
    yield from ()


def _tasks_except_numbers_of_pods(job: ChangedObject) -> Refusals:
    for path in (field.path for field in job.fields if field.is_below("spec", "tasks")):
        is_default = path[3:] == ("maxRetry",) and job.values(*path) == (None, _MAX_RETRY)
        if not is_default and (len(path) < 4 or path[3] not in _MUTABLE):
            yield path, "only replicas and minAvailable of a task can change"
            return


def _volumes_except_names_of_claims(job: ChangedObject) -> Refusals:
    for path in (field.path for field in job.fields if field.is_below("spec", "volumes")):
        is_generated = path[3:] == ("volumeClaimName",) and None not in job.values(*path[:3], "volumeClaim")
        if not is_generated:
            yield path, "the volumes of a Job are immutable"
            return
