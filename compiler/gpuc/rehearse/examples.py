"""The examples of the policy folders as complete objects that a real API server can admit or refuse."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from gpuc.policy.library import VERDICTS, Policy, example_text
from gpuc.rehearse.client import Object

IMAGE = "registry.example.com/train:1"
GATE = {"name": "gpuc.dev/rehearsal"}
"""A scheduling gate: the scheduler and Karpenter ignore the pod."""
_WHOLE_THOUSANDTHS = re.compile(r"\b\d+000m\b")


@dataclass(frozen=True)
class Example:
    """One object of allowed.yaml or denied.yaml."""

    policy: str
    title: str
    """The comment above the example."""
    denied: bool
    document: Object
    """The created object, or the object after an update."""
    before: Object | None = None
    """The object before an update."""
    subresource: str = ""

    @property
    def owner(self) -> Object | None:
        """The JobSet in the ownerReferences, which Kueue looks up."""
        for reference in self.document["metadata"].get("ownerReferences", ()):
            if reference["kind"] == "JobSet":
                metadata = {"name": reference["name"], "namespace": self.document["metadata"]["namespace"]}
                return _completed({"apiVersion": reference["apiVersion"], "kind": "JobSet", "metadata": metadata})
        return None

    @property
    def api_server_refusal(self) -> str:
        """A part of the API server's message if the object is invalid, before any policy; empty for a valid object."""
        return next(_invalid(self.document), "")


def examples(policy: Policy) -> list[Example]:
    """The examples of one of gpuc's policies, without reports and without objects that the API server rewrites."""
    found = []
    for verdict in VERDICTS:
        text = example_text(policy.name, verdict)
        for part in re.split(r"^---\n", text, flags=re.MULTILINE):
            document = _loaded(part)
            if not _WHOLE_THOUSANDTHS.search(part) and not _is_report(document):
                title = part.partition("\n")[0].removeprefix("# ").rstrip(".")
                found.append(_example(policy.name, title, verdict == "denied", document))
    return found


def _is_report(document: Object) -> bool:
    """Whether the example is a running pod, which only Gatekeeper's audit checks."""
    return document["kind"] == "Pod" and bool(document.get("spec", {}).get("nodeName"))


def moved(value: Any, namespaces: dict[str, str]) -> Any:
    """A copy of the value with other names of namespaces."""
    if isinstance(value, dict):
        return {key: moved(child, namespaces) for key, child in value.items()}
    if isinstance(value, list):
        return [moved(child, namespaces) for child in value]
    return namespaces.get(value, value) if isinstance(value, str) else value


def changes(before: Object, after: Object) -> Object:
    """The JSON merge patch that changes the first object to the second."""
    made: Object = dict.fromkeys(before.keys() - after.keys())
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            if inner := changes(old, value):
                made[key] = inner
        elif key not in before or value != old:
            made[key] = value
    return made


def _loaded(text: str) -> Object:
    from ruamel.yaml import YAML

    document: Object = YAML(typ="safe", pure=True).load(text)
    return document


def _example(policy: str, title: str, denied: bool, document: Object) -> Example:
    if document["kind"] != "AdmissionReview":
        return Example(policy, title, denied, _completed(document))
    request = document["request"]
    before = None
    if request["operation"] == "UPDATE":
        for pod in (request["oldObject"], request["object"]):
            pod.get("spec", {}).pop("nodeName", None)  # Kubernetes deletes pods of nodes that do not exist
        before = _completed(request["oldObject"])
    return Example(policy, title, denied, _completed(request["object"]), before, request.get("subResource", ""))


def _completed(document: Object) -> Object:
    """The example with all required fields; its pods never run."""
    made = deepcopy(document)
    if made["kind"] in _COMPLETE:
        _COMPLETE[made["kind"]](made.setdefault("spec", {}))
    return made


def _complete_pod(spec: Object) -> None:
    spec.setdefault("containers", [{"name": "main", "image": IMAGE}])
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        resources = container.get("resources", {})
        devices = {name: amount for name, amount in resources.get("requests", {}).items() if "/" in name}
        if devices:
            resources["limits"] = devices | resources.get("limits", {})
    if not spec.get("nodeName"):
        spec["schedulingGates"] = [dict(GATE)]


def _complete_job(spec: Object) -> None:
    spec.setdefault("suspend", True)
    pod = spec.setdefault("template", {}).setdefault("spec", {})
    pod.setdefault("restartPolicy", "Never")
    _complete_pod(pod)


def _complete_job_set(spec: Object) -> None:
    spec.setdefault("suspend", True)
    for job in spec.setdefault("replicatedJobs", [{"name": "workers"}]):
        _complete_job(job.setdefault("template", {}).setdefault("spec", {}))


def _complete_replicas(spec: Object) -> None:
    labels = {"app": "rehearsal"}
    spec |= {"replicas": 0, "selector": {"matchLabels": labels}}
    template = spec.setdefault("template", {})
    template["metadata"] = {"labels": labels}
    _complete_pod(template.setdefault("spec", {}))


_COMPLETE: dict[str, Callable[[Object], None]] = {
    "Pod": _complete_pod,
    "Job": _complete_job,
    "JobSet": _complete_job_set,
    "Deployment": _complete_replicas,
    "StatefulSet": _complete_replicas,
    "TrainJob": lambda spec: spec.update(runtimeRef={"name": "none"}, suspend=True),
}


def _invalid(document: Object) -> Iterator[str]:
    """Validation errors of the API server.

    Source: kubernetes v1.35 pkg/apis/{core,networking}/validation, plugin/pkg/admission/runtimeclass.
    """
    spec = document.get("spec", {})
    if any(entry.get("operator") == "Exists" and entry.get("value") for entry in spec.get("tolerations", ())):
        yield "value must be empty when `operator` is 'Exists'"
    if spec.get("runtimeClassName") == "":
        yield "resource name may not be empty"
    if any(".." in volume.get("hostPath", {}).get("path", "").split("/") for volume in spec.get("volumes", ())):
        yield "must not contain '..'"
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        if any({} in rule.get(peers, ()) for rule in spec.get(direction, ())):
            yield "must specify a peer"
