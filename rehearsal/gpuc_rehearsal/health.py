"""Waits until applied objects are healthy, with the health checks of Argo CD and checks for Gatekeeper.

The module also waits for the nodes that always run.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count

from msgspec import Struct

from gpuc.kubernetes.api_groups import ADMISSION_API, CONSTRAINT_API
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster, Pool
from gpuc.model.names import POOL_LABEL
from gpuc_rehearsal.autoscaler import autoscaler_of
from gpuc_rehearsal.client import POLL_SECONDS, Client, Object, condition, conditions_text
from gpuc_rehearsal.context import NODE
from gpuc_rehearsal.process import poll

BINDING = "ValidatingAdmissionPolicyBinding"
BLOCK_NODES = 8
"""Assumed number of nodes per block. A cloud reports the network topology only for running instances."""


class ObjectProblem(Struct, frozen=True):
    """An object that is refused, changed or not healthy, and the message about this problem."""

    manifest: Manifest
    message: str

    def __str__(self) -> str:
        return f"{self.manifest}: {self.message}"


def wait_healthy(client: Client, manifests: Iterable[Manifest], timeout_s: float) -> list[ObjectProblem]:
    """Waits until every object is healthy. Returns the objects that are still unhealthy after the timeout."""
    deadline = time.monotonic() + timeout_s
    return list(filter(None, (_wait(client, manifest, deadline - time.monotonic()) for manifest in manifests)))


def _wait(client: Client, manifest: Manifest, timeout_s: float) -> ObjectProblem | None:
    check = _constraint if manifest.api == CONSTRAINT_API else CHECKS.get(manifest.kind)
    problem = ""

    def is_healthy() -> bool:
        nonlocal problem
        document = client.find(manifest.api, manifest.kind, manifest.name, manifest.namespace)
        problem = check(client, document) if check and document else "does not exist"
        return not problem

    is_good = check is None or poll(is_healthy, timeout_s, POLL_SECONDS)
    return None if is_good else ObjectProblem(manifest, problem)


def _condition(kind: str) -> Callable[[Client, Object], str]:
    """Returns a check that the condition with the type `kind` is True for the current generation of an object."""

    def check(client: Client, document: Object) -> str:
        actual, generation = condition(document, kind), document["metadata"].get("generation", 0)
        is_true = actual.get("status") == "True" and actual.get("observedGeneration", generation) == generation
        return "" if is_true else conditions_text(document)

    return check


def _template(client: Client, document: Object) -> str:
    """Returns why a ConstraintTemplate is not healthy; empty if it is healthy.

    A ConstraintTemplate is healthy if every Gatekeeper pod has compiled the template, if the API server serves the kind
    of the constraints, and if the ValidatingAdmissionPolicy exists and has no type warnings.
    """
    status = document.get("status", {})
    errors = [error["message"] for pod in status.get("byPod", ()) for error in pod.get("errors", ())]
    if errors:
        return "; ".join(errors)
    name, kind = document["metadata"]["name"], document["spec"]["crd"]["spec"]["names"]["kind"]
    if not status.get("created") or not client.serves(CONSTRAINT_API, kind):
        return f"the API server does not serve the kind {kind} of ConstraintTemplate {name}"
    policy = client.find(ADMISSION_API, "ValidatingAdmissionPolicy", f"gatekeeper-{name}")
    return _type_warnings(policy) if policy else f"ValidatingAdmissionPolicy gatekeeper-{name} does not exist"


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
    if document.get("status", {}).get("observedGeneration", 0) < document["metadata"].get("generation", 0):
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


def place_static_nodes(client: Client, cluster: Cluster, timeout_s: float) -> dict[str, str]:
    """Waits for the nodes that always run, and sets their labels of the network topology, as a cloud does.

    Returns a message for each pool that has too few nodes after the timeout, by the name of the pool.
    """
    deadline = time.monotonic() + timeout_s
    incomplete, autoscaler = {}, autoscaler_of(cluster)
    ready = autoscaler.ready_label if autoscaler else ""
    for pool in (pool for pool in cluster.pools if pool.always_running):
        selector = ",".join(filter(None, (f"{POOL_LABEL}={pool.name}", ready)))
        list_nodes = partial(client.list_all, *NODE, labels=selector)
        while len(nodes := list_nodes()) < pool.always_running and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        if len(nodes) < pool.always_running:
            incomplete[pool.name] = f"{len(nodes)} of {pool.always_running} nodes after {timeout_s:.0f} s"
        if "block" in (pool.spec.topology or ()):
            _label_blocks(client, pool, sorted(nodes, key=lambda node: str(node["metadata"]["name"])))
    return incomplete


def _label_blocks(client: Client, pool: Pool, nodes: list[Object]) -> None:
    """Labels the nodes without a block. Each block has BLOCK_NODES nodes."""
    label = pool.level_labels["block"]
    sizes = Counter(node["metadata"]["labels"].get(label) for node in nodes)
    for node in nodes:
        if label not in node["metadata"]["labels"]:
            names = (f"{pool.name}-{index}" for index in count())
            block = next(name for name in names if sizes[name] < BLOCK_NODES)
            sizes[block] += 1
            client.patch_object(node, {"metadata": {"labels": {label: block}}})
