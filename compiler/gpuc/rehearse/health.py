"""When an object is healthy: what Argo CD waits for before the next wave, and what a rehearsal ends with."""

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
class Sickness:
    """An object that is not healthy, and what its controller says."""

    manifest: Manifest
    message: str

    def __str__(self) -> str:
        return f"{self.manifest}: {self.message}"


def wait_healthy(client: Client, manifests: Iterable[Manifest], timeout_s: float) -> list[Sickness]:
    """Waits until every object is healthy; those that are not in time, with the controller's words."""
    deadline = time.monotonic() + timeout_s
    return [sick for each in manifests if (sick := _wait(client, each, deadline - time.monotonic())) is not None]


def _wait(client: Client, manifest: Manifest, timeout_s: float) -> Sickness | None:
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
        return Sickness(manifest, "does not exist" if found is None else check(client, found) or "became healthy late")
    return None


def _condition(kind: str) -> Callable[[Client, Object], str]:
    def check(client: Client, found: Object) -> str:
        told = condition(found, kind)
        if told.get("status") == "True" and told.get("observedGeneration", _generation(found)) == _generation(found):
            return ""
        return conditions_text(found)

    return check


def _generation(found: Object) -> int:
    return int(found["metadata"].get("generation", 0))


def _template(client: Client, found: Object) -> str:
    """Compiled by every pod of Gatekeeper, its kind of constraint served, its policy in the API server."""
    status = found.get("status", {})
    errors = [error["message"] for pod in status.get("byPod", ()) for error in pod.get("errors", ())]
    if errors:
        return "; ".join(errors)
    name = found["metadata"]["name"]
    kind = found["spec"]["crd"]["spec"]["names"]["kind"]
    if not status.get("created") or not client.serves(CONSTRAINT_API, kind):
        return f"its kind {kind} is not served"
    if not client.find(ADMISSION_API, "ValidatingAdmissionPolicy", f"gatekeeper-{name}"):
        return "its ValidatingAdmissionPolicy does not exist"
    return _type_warnings(client, name)


def _constraint(client: Client, found: Object) -> str:
    """Enforced by every pod of Gatekeeper, and bound to the policy of its template in the API server."""
    pods = found.get("status", {}).get("byPod") or []
    errors = [error["message"] for pod in pods for error in pod.get("errors") or []]
    if errors or not pods or not all(pod.get("enforced") for pod in pods):
        return "; ".join(errors) or "no pod of Gatekeeper enforces it"
    name = f"gatekeeper-{found['kind'].lower()}-{found['metadata']['name']}"
    if found["spec"].get("enforcementAction") == "dryrun" or client.find(ADMISSION_API, BINDING, name):
        return ""
    return f"its {BINDING} does not exist"


def _type_warnings(client: Client, name: str) -> str:
    policy = client.get(ADMISSION_API, "ValidatingAdmissionPolicy", f"gatekeeper-{name}")
    checked = policy.get("status", {}).get("typeChecking", {}).get("expressionWarnings", ())
    return "; ".join(f"{each['fieldRef']}: {each['warning']}" for each in checked)


CHECKS: dict[str, Callable[[Client, Object], str]] = {
    "ClusterQueue": _condition("Active"),
    "LocalQueue": _condition("Active"),
    "ConstraintTemplate": _template,
    "NodePool": _condition("Ready"),
    "NodeOverlay": _condition("Ready"),
}
"""What is wrong with an object, empty where nothing is, by kind: what Argo CD's health checks ask, and more."""
