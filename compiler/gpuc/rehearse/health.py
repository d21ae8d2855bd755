"""Health checks: Argo CD's checks before the next sync wave, and additional ones for Gatekeeper."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gpuc.manifest.manifest import Manifest
from gpuc.rehearse.client import Client, Object, WaitError, condition, conditions_text

CONSTRAINT_API = "constraints.gatekeeper.sh/v1beta1"
ADMISSION_API = "admissionregistration.k8s.io/v1"
BINDING = "ValidatingAdmissionPolicyBinding"


@dataclass(frozen=True, slots=True)
class UnhealthyObject:
    """An object that is not healthy, and the message of its controller."""

    manifest: Manifest
    message: str

    def __str__(self) -> str:
        return f"{self.manifest}: {self.message}"


def wait_healthy(client: Client, manifests: Iterable[Manifest], timeout_s: float) -> list[UnhealthyObject]:
    """Waits until every object is healthy, and returns the objects that are not healthy in time."""
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
            lambda found: check(client, found) == "",
            timeout_s,
            manifest.namespace,
        )
    except WaitError:
        found = client.find(manifest.api, manifest.kind, manifest.name, manifest.namespace)
        return UnhealthyObject(
            manifest, "does not exist" if found is None else check(client, found) or "became healthy late"
        )
    return None


def _condition(kind: str) -> Callable[[Client, Object], str]:
    def check(client: Client, found: Object) -> str:
        actual, generation = condition(found, kind), _generation(found)
        if actual.get("status") == "True" and actual.get("observedGeneration", generation) == generation:
            return ""
        return conditions_text(found)

    return check


def _generation(found: Object) -> int:
    return int(found["metadata"].get("generation", 0))


def _template(client: Client, found: Object) -> str:
    """Whether every Gatekeeper pod has compiled a template, and the API server has its kind and its policy."""
    status = found.get("status", {})
    errors = [error["message"] for pod in status.get("byPod", ()) for error in pod.get("errors", ())]
    if errors:
        return "; ".join(errors)
    name = found["metadata"]["name"]
    kind = found["spec"]["crd"]["spec"]["names"]["kind"]
    if not status.get("created") or not client.serves(CONSTRAINT_API, kind):
        return f"the API server does not serve its kind {kind}"
    if not client.find(ADMISSION_API, "ValidatingAdmissionPolicy", f"gatekeeper-{name}"):
        return "its ValidatingAdmissionPolicy does not exist"
    return _type_warnings(client, name)


def _constraint(client: Client, found: Object) -> str:
    """Whether every Gatekeeper pod enforces a constraint, and the API server has its binding."""
    pods = found.get("status", {}).get("byPod") or []
    errors = [error["message"] for pod in pods for error in pod.get("errors") or []]
    if errors or not pods or not all(pod.get("enforced") for pod in pods):
        return "; ".join(errors) or "no Gatekeeper pod enforces the constraint"
    name = f"gatekeeper-{found['kind'].lower()}-{found['metadata']['name']}"
    if found["spec"].get("enforcementAction") == "dryrun" or client.find(ADMISSION_API, BINDING, name):
        return ""
    return f"its {BINDING} does not exist"


def _type_warnings(client: Client, name: str) -> str:
    policy = client.get(ADMISSION_API, "ValidatingAdmissionPolicy", f"gatekeeper-{name}")
    checked = policy.get("status", {}).get("typeChecking", {}).get("expressionWarnings", ())
    return "; ".join(f"{warning['fieldRef']}: {warning['warning']}" for warning in checked)


CHECKS: dict[str, Callable[[Client, Object], str]] = {
    "ClusterQueue": _condition("Active"),
    "LocalQueue": _condition("Active"),
    "ConstraintTemplate": _template,
    "NodePool": _condition("Ready"),
    "NodeOverlay": _condition("Ready"),
}
"""Health check by kind; a check returns why an object is not healthy, or an empty text."""
