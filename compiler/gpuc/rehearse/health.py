"""Health checks of objects: the checks of Argo CD before the next sync wave, and checks for Gatekeeper."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gpuc.kubernetes.api_groups import ADMISSION_API, CONSTRAINT_API
from gpuc.manifest.manifest import Manifest
from gpuc.rehearse.client import Client, Object, WaitError, condition, conditions_text

BINDING = "ValidatingAdmissionPolicyBinding"


@dataclass(frozen=True, slots=True)
class UnhealthyObject:
    """An object that is not healthy, and the message of the controller."""

    manifest: Manifest
    message: str

    def __str__(self) -> str:
        return f"{self.manifest}: {self.message}"


def wait_healthy(client: Client, manifests: Iterable[Manifest], timeout_s: float) -> list[UnhealthyObject]:
    """Waits until every object is healthy, and returns the objects that are not healthy after the timeout."""
    deadline = time.monotonic() + timeout_s
    results = (_wait(client, manifest, deadline - time.monotonic()) for manifest in manifests)
    return [unhealthy for unhealthy in results if unhealthy is not None]


def _wait(client: Client, manifest: Manifest, timeout_s: float) -> UnhealthyObject | None:
    check = _constraint if manifest.api == CONSTRAINT_API else CHECKS.get(manifest.kind)
    if check is None:
        return None
    try:
        client.wait_for(
            manifest.api,
            manifest.kind,
            manifest.name,
            lambda document: check(client, document) == "",
            timeout_s,
            manifest.namespace,
        )
    except WaitError:
        document = client.find(manifest.api, manifest.kind, manifest.name, manifest.namespace)
        return UnhealthyObject(
            manifest,
            "does not exist" if document is None else check(client, document) or "became healthy after the timeout",
        )
    return None


def _condition(kind: str) -> Callable[[Client, Object], str]:
    """Returns a check that the condition with the type `kind` is True for the current generation of an object."""

    def check(client: Client, document: Object) -> str:
        actual, generation = condition(document, kind), _generation(document)
        if actual.get("status") == "True" and actual.get("observedGeneration", generation) == generation:
            return ""
        return conditions_text(document)

    return check


def _generation(document: Object) -> int:
    return int(document["metadata"].get("generation", 0))


def _template(client: Client, document: Object) -> str:
    """Returns why a ConstraintTemplate is not healthy; empty if it is healthy.

    A ConstraintTemplate is healthy if every Gatekeeper pod has compiled the template, if the API server serves the kind
    of the constraints, and if the ValidatingAdmissionPolicy exists and has no type warnings.
    """
    status = document.get("status", {})
    errors = [error["message"] for pod in status.get("byPod", ()) for error in pod.get("errors", ())]
    if errors:
        return "; ".join(errors)
    name = document["metadata"]["name"]
    kind = document["spec"]["crd"]["spec"]["names"]["kind"]
    if not status.get("created") or not client.serves(CONSTRAINT_API, kind):
        return f"the API server does not serve the kind {kind} of ConstraintTemplate {name}"
    if not client.find(ADMISSION_API, "ValidatingAdmissionPolicy", f"gatekeeper-{name}"):
        return f"ValidatingAdmissionPolicy gatekeeper-{name} does not exist"
    return _type_warnings(client.get(ADMISSION_API, "ValidatingAdmissionPolicy", f"gatekeeper-{name}"))


def _constraint(client: Client, document: Object) -> str:
    """Returns why a constraint is not healthy; empty if it is healthy.

    A constraint is healthy if every Gatekeeper pod enforces it, and if the API server has its binding.
    """
    pods = document.get("status", {}).get("byPod") or []
    errors = [error["message"] for pod in pods for error in pod.get("errors") or []]
    if errors or not pods or not all(pod.get("enforced") for pod in pods):
        return "; ".join(errors) or "no Gatekeeper pod enforces the constraint"
    name = f"gatekeeper-{document['kind'].lower()}-{document['metadata']['name']}"
    if document["spec"].get("enforcementAction") == "dryrun" or client.find(ADMISSION_API, BINDING, name):
        return ""
    return f"{BINDING} {name} does not exist"


def _admission_policy(_: Client, document: Object) -> str:
    """Returns why a ValidatingAdmissionPolicy is not healthy; empty if the API server has compiled it."""
    if document.get("status", {}).get("observedGeneration", 0) < _generation(document):
        return "the API server has not compiled the expressions"
    return _type_warnings(document)


def _type_warnings(policy: Object) -> str:
    warnings = policy.get("status", {}).get("typeChecking", {}).get("expressionWarnings", ())
    return "; ".join(f"{warning['fieldRef']}: {warning['warning']}" for warning in warnings)


CHECKS: dict[str, Callable[[Client, Object], str]] = {
    "ClusterQueue": _condition("Active"),
    "LocalQueue": _condition("Active"),
    "ConstraintTemplate": _template,
    "ValidatingAdmissionPolicy": _admission_policy,
    "NodePool": _condition("Ready"),
    "NodeOverlay": _condition("Ready"),
}
"""Health check by kind. A check returns why an object is not healthy, or an empty string for a healthy object."""
