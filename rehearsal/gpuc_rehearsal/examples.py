"""Reads the examples of policies (allowed.yaml, denied.yaml), and adds the fields that the API server requires."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpuc.documents.reader import load_yaml
from gpuc.policy.examples import example_texts
from gpuc.policy.library import VERDICTS, Policy
from gpuc_rehearsal.client import Object
from gpuc_rehearsal.parts import workload_modules

IMAGE = "registry.example.com/train:1"
GATE = {"name": "gpuc.dev/rehearsal"}
"""A scheduling gate. The scheduler and an autoscaler ignore a pod with a gate."""
AUDIT = "as the audit checks it"
"""A part of the title of an example for Gatekeeper's audit."""
_REWRITTEN_QUANTITY = re.compile(r"\b\d+000m\b")
"""Quantities that the API server rewrites before the policies run, for example 2000m to 2."""


class Example(Struct, frozen=True):
    """One example of a policy: an object that the policy allows or denies."""

    policy: str
    title: str
    """The comment above the example, or the kind and name of the object. Unique among the examples of the file."""
    denied: bool
    document: Object
    """The object to create, or the object after an update."""
    before: Object | None = None
    """The object before an update; None if the example creates an object."""
    subresource: str = ""
    user: str = ""
    """The user of the request; empty if the example names no user."""

    @property
    def owner(self) -> Object | None:
        """The owner of the object, such as a JobSet, if Kueue reads the queue from the owner; else None."""
        for reference in self.document["metadata"].get("ownerReferences", ()):
            if reference["kind"] in _of_families("OWNERS"):
                metadata = {"name": reference["name"], "namespace": self.document["metadata"]["namespace"]}
                owner = {"apiVersion": reference["apiVersion"], "kind": reference["kind"], "metadata": metadata}
                return _completed(owner)
        return None

    @property
    def api_server_refusal(self) -> str:
        """A text in the refusal of the API server, if the object is so invalid that no policy decides; else empty."""
        return next(_invalid(self.document), "")


def examples(policy: Policy) -> list[Example]:
    """Returns the examples of a policy that can be sent to the API server.

    These examples are left out: examples for Gatekeeper's audit, such as running pods, because the audit has no user;
    examples with quantities that the API server rewrites before a policy sees them; objects whose owner does not exist,
    because the garbage collector deletes these objects; and updates of running workloads, because Kueue suspends every
    new workload.
    """
    usable = []
    for verdict in VERDICTS:
        titles: Counter[str] = Counter()
        for row in example_texts(policy.example_text(verdict)):
            document = load_yaml(row.text)
            example = _example(policy.name, row.title, verdict == "denied", document)
            title = row.title or f"{example.document['kind']} {example.document['metadata'].get('name')}"
            titles[title] += 1
            if titles[title] > 1:
                title = f"{title} ({titles[title]})"
            # Only Gatekeeper's audit checks pods on nodes.
            is_of_audit = AUDIT in title or (document["kind"] == "Pod" and document.get("spec", {}).get("nodeName"))
            if not is_of_audit and not _REWRITTEN_QUANTITY.search(row.text) and _is_possible(example):
                usable.append(replace(example, title=title))
    return usable


def _is_possible(example: Example) -> bool:
    """Returns whether the owners exist, of which the rehearsal creates only some, and no running workload changes."""
    before = example.before or {"metadata": {}}
    old, new = (row["metadata"].get("ownerReferences", ()) for row in (before, example.document))
    has_owners = not old and all(reference["kind"] in _of_families("OWNERS") for reference in new)
    spec = before.get("spec", {})
    return has_owners and False not in (spec.get("suspend"), spec.get("runPolicy", {}).get("suspend"))


def with_namespaces(value: Any, namespaces: dict[str, str]) -> Any:
    """Returns a copy of a JSON value. A text that is a key of `namespaces` is replaced by the value of this key."""
    if isinstance(value, dict):
        return {key: with_namespaces(child, namespaces) for key, child in value.items()}
    if isinstance(value, list):
        return [with_namespaces(child, namespaces) for child in value]
    return namespaces.get(value, value) if isinstance(value, str) else value


def _example(policy: str, title: str, denied: bool, document: Object) -> Example:
    if document["kind"] != "AdmissionReview":
        return Example(policy, title, denied, _completed(document))
    request, before = document["request"], None
    if request["operation"] == "UPDATE":
        for pod in (request["oldObject"], request["object"]):
            pod.get("spec", {}).pop("nodeName", None)  # Kubernetes deletes pods on nodes that do not exist
        before = _completed(request["oldObject"])
    user = request.get("userInfo", {}).get("username", "")
    return Example(policy, title, denied, _completed(request["object"]), before, request.get("subResource", ""), user)


def _completed(document: Object) -> Object:
    """Returns the object with all required fields, and with scheduling gates so that no pod runs."""
    completed = deepcopy(document)
    complete = _COMPLETE.get(completed["kind"]) or _of_families("COMPLETE").get(completed["kind"])
    if complete is not None:
        complete(completed.setdefault("spec", {}))
    return completed


@cache
def _of_families(name: str) -> dict[str, Callable[[Object], None]]:
    """Returns the functions of a dict, by kind, in the modules of the families of workloads."""
    found = (getattr(module, name) for module in workload_modules())
    return {kind: complete for functions in found for kind, complete in functions.items()}


def _complete_pod(spec: Object) -> None:
    spec.setdefault("containers", [{"name": "main", "image": IMAGE}])
    containers = (*spec["containers"], *spec.get("initContainers", ()))
    for container in containers:
        resources = container.get("resources", {})
        if devices := {name: amount for name, amount in resources.get("requests", {}).items() if "/" in name}:
            resources["limits"] = devices | resources.get("limits", {})
    mounted = {mount["name"] for container in containers for mount in container.get("volumeMounts", ())}
    if missing := mounted - {volume["name"] for volume in spec.get("volumes", ())}:
        spec["volumes"] = [*spec.get("volumes", ()), *({"name": name, "emptyDir": {}} for name in sorted(missing))]
    if not spec.get("nodeName"):
        spec["schedulingGates"] = [*spec.get("schedulingGates", ()), dict(GATE)]


def complete_job(spec: Object) -> None:
    """Adds the required fields to the spec of a Job, and a scheduling gate, so that no pod runs."""
    spec.setdefault("suspend", True)
    pod = spec.setdefault("template", {}).setdefault("spec", {})
    pod.setdefault("restartPolicy", "Never")
    _complete_pod(pod)


def _complete_replicas(spec: Object) -> None:
    labels = {"app": "rehearsal"}
    spec |= {"replicas": 0, "selector": {"matchLabels": labels}}
    template = spec.setdefault("template", {})
    template.setdefault("metadata", {}).setdefault("labels", {}).update(labels)
    _complete_pod(template.setdefault("spec", {}))


def _complete_ingress(spec: Object) -> None:
    backend = {"service": {"name": "rehearsal", "port": {"number": 80}}}
    if "defaultBackend" in spec:
        spec["defaultBackend"] = backend
    for rule in spec.get("rules", ()):
        rule["http"] = {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}


_COMPLETE: dict[str, Callable[[Object], None]] = {
    "Pod": _complete_pod,
    "Job": complete_job,
    "Deployment": _complete_replicas,
    "Ingress": _complete_ingress,
    "StatefulSet": _complete_replicas,
}


def _invalid(document: Object) -> Iterator[str]:
    """Yields parts of the messages with which the API server refuses the object as invalid.

    Source: kubernetes v1.35 pkg/apis/{core,networking}/validation, plugin/pkg/admission/runtimeclass.
    """
    spec = document.get("spec", {})
    tolerations = spec.get("tolerations", ())
    if any(toleration.get("operator") == "Exists" and toleration.get("value") for toleration in tolerations):
        yield "value must be empty when `operator` is 'Exists'"
    if spec.get("runtimeClassName") == "":
        yield "resource name may not be empty"
    if any(".." in volume.get("hostPath", {}).get("path", "").split("/") for volume in spec.get("volumes", ())):
        yield "must not contain '..'"
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        if any({} in rule.get(peers, ()) for rule in spec.get(direction, ())):
            yield "must specify a peer"
