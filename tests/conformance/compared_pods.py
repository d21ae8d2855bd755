"""Compares gpuc's predictions for random pods with the decisions and the stored pods of a real API server.

`python -m tests.conformance.compared_pods --namespaces 40 --pods 25 --seed 1` starts etcd and an API server with the
admission plugins of EKS, creates random namespaces, and asks for 25 random pods in each with dry run. Then it creates
copies of one pod until a ResourceQuota refuses the next one. It also asks for the pods of the unit tests of Pod
Security, in all levels and several versions. Pods that the validation refuses are not compared.
"""

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

from gpuc.admission.limit_ranges import limit_range_decisions
from gpuc.admission.mutating import mutated
from gpuc.admission.pod_security import pod_security
from gpuc.admission.references import reference_decisions
from gpuc.admission.request import Decision, Request
from gpuc.admission.resource_quotas import quota_decisions
from gpuc.kubernetes.quantity import quantity
from gpuc.manifest.manifest import Manifest, manifest_of
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.objects.pod_resources import Side, of_pod
from gpuc_rehearsal.client import ApiError, Client, new_object
from gpuc_rehearsal.programs import find_programs
from tests.admission.test_pod_security import BASELINE, RESTRICTED
from tests.conformance import random_admission
from tests.conformance.bare_api_server import bare_plane
from tests.conformance.check_result import CheckResult, report
from tests.conformance.random_admission import Object
from tests.tables import table

NAMESPACES, PODS, SEED = 40, 25, 1
COPIES = 6
"""The largest number of copies that are created of one pod."""
_FIELDS = "serviceAccountName", "priority", "preemptionPolicy", "priorityClassName", "nodeSelector", "tolerations"
"""Fields of the pod spec that admission plugins set."""
_SIDES: tuple[Side, ...] = ("requests", "limits")
_TABLES = table(__file__, "compared_pods.yaml")
_WORDS: dict[str, str] = _TABLES["words"]
_CLUSTER: list[Object] = _TABLES["cluster"]


@dataclass
class Result:
    """The numbers of a run."""

    outcomes: Counter[str] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)


def _create(client: Client, document: Object) -> bool:
    try:
        client.create(document)
    except ApiError as error:
        return error.code == 409
    return True


def prepare(client: Client, random: Random, name: str) -> list[Manifest]:
    """Creates a namespace with its objects, and returns those that the API server accepted."""
    accounts = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, "namespace": name}, **extra}
        for account, extra in (("default", {}), ("quiet", {"automountServiceAccountToken": False}))
    ]
    documents = [random_admission.namespace(random, name), *accounts]
    if random.random() < 0.5:
        documents.append(random_admission.limit_range(random, name))
    documents += [
        random_admission.resource_quota(random, name, f"quota-{n}") for n in range(random.choice((0, 0, 1, 1, 2)))
    ]
    created = [document for document in documents if _create(client, document)]
    for quota in created:
        if quota["kind"] == "ResourceQuota":
            hard = quota["spec"]["hard"]
            status = {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}
            client.patch_object(new_object("v1", "ResourceQuota", quota["metadata"]["name"], name), status, "status")
    return [manifest_of(document) for document in created]


def decisions(objects: ObjectSet, document: Object, copies: int = 1) -> tuple[Object, list[Decision]]:
    """Returns gpuc's changed pod and its decisions about copies of the pod."""
    request = mutated(objects, Request(document, "user"))
    namespace = document["metadata"]["namespace"]
    return request.document, [
        *pod_security(objects, request),
        *reference_decisions(objects, request),
        *limit_range_decisions(objects, request),
        *quota_decisions(objects, namespace, [(request, copies)]),
    ]


def compare(client: Client, objects: ObjectSet, document: Object, result: Result) -> bool:
    """Compares the decision about one pod, and returns whether the API server accepts the pod."""
    changed, predicted = decisions(objects, document)
    denied = [row for row in predicted if row.outcome == "denied" and row.field[1:2] != ("schedulingGates",)]
    try:
        stored = client.create(document, dry_run=True)
    except ApiError as error:
        if error.code == 422 or error.code == 400:
            result.outcomes["invalid"] += 1
        else:
            component = next((check for words, check in _WORDS.items() if words in error.message), "")
            is_right = bool(component) and any(row.check.startswith(component) for row in denied)
            result.outcomes[f"denied by {component or error.message[:60]}"] += 1
            if not is_right:
                _disagree(result, f"the API server denies: {error.message}", objects, document, predicted)
        return False
    result.outcomes["allowed"] += 1
    warned = any("would violate PodSecurity" in text for text in client.warnings)
    if warned != any(row.outcome == "warned" and row.check.startswith("Pod Security") for row in predicted):
        _disagree(result, f"warnings {client.warnings}", objects, document, predicted)
    if denied:
        _disagree(result, "the API server allows the pod", objects, document, predicted)
    elif difference := _difference(stored["spec"], changed["spec"]):
        _disagree(result, f"stored pod: {difference}", objects, document, [])
    return True


def compare_copies(client: Client, objects: ObjectSet, document: Object, result: Result) -> None:
    """Creates copies of a pod until the API server denies the next copy, and compares their number."""
    predicted = 0
    while predicted < COPIES and not any(
        row.outcome == "denied" and row.check.startswith("ResourceQuota")
        for row in decisions(objects, document, predicted + 1)[1]
    ):
        predicted += 1
    created = 0
    for number in range(COPIES):
        copy = {**document, "metadata": {**document["metadata"], "name": f"copy-{number}"}}
        try:
            client.create(copy)
        except ApiError:
            break
        created += 1
    result.outcomes["copies"] += 1
    if created != predicted:
        _disagree(result, f"{created} copies are created, {predicted} predicted", objects, document, [])


def _difference(stored: Object, changed: Object) -> str:
    """Returns the first field in which the stored pod differs from the predicted pod; empty without a difference."""
    for name in _FIELDS:
        if (stored.get(name) or None) != (changed.get(name) or None):
            return f"{name} is {stored.get(name)}, predicted {changed.get(name)}"
    if len(stored.get("volumes", ())) != len(changed.get("volumes", ())):
        return f"volumes {stored.get('volumes')}, predicted {changed.get('volumes')}"
    # Defaults apply once more to the stored pod, and set requests of the pod that its containers have already.
    for side in _SIDES:
        if of_pod(stored, side) != of_pod(changed, side):
            return f"the {side} are {of_pod(stored, side)}, predicted {of_pod(changed, side)}"
    paths: list[tuple[str | int, ...]] = [("overhead",)]
    for kind in ("initContainers", "containers"):
        for number, _ in items(stored.get(kind)):
            paths += [(kind, number, "resources", side) for side in _SIDES]
    for path in paths:
        if _numbers(dig(stored, *path)) != _numbers(dig(changed, *path)):
            return f"{path} is {dig(stored, *path)}, predicted {dig(changed, *path)}"
    return ""


def _numbers(quantities: Any) -> dict[str, Any]:
    return {name: quantity(value) for name, value in (quantities or {}).items()}


def _disagree(result: Result, text: str, objects: ObjectSet, document: Object, predicted: list[Decision]) -> None:
    own = [row.document() for row in objects.manifests if row.kind in ("Namespace", "LimitRange", "ResourceQuota")]
    rows = [f"{row.outcome} {row.check}: {row.message}" for row in predicted if row.outcome != "allowed"]
    result.disagreements.append(f"{text}\n  predicted {rows}\n  pod {json.dumps(document)}\n  in {json.dumps(own)}")


def compare_checks(client: Client, result: Result) -> None:
    """Compares the decisions about the pods of the unit tests: for each check, one that passes and one that fails."""
    for level in random_admission.LEVELS:
        for number, version in enumerate(random_admission.VERSIONS):
            name = f"{level}-{number}"
            prefix = "pod-security.kubernetes.io/enforce"
            labels = {prefix: level, f"{prefix}-version": version}
            own = [
                new_object("v1", "Namespace", name, metadata={"labels": labels}),
                new_object("v1", "ServiceAccount", "default", name),
            ]
            for document in own:
                client.create(document)
            objects = ObjectSet(map(manifest_of, (*_CLUSTER, *own)), is_complete=True)
            for passes, fails, _ in (BASELINE | RESTRICTED).values():
                for document in (passes.document, fails.document):
                    moved = {**document, "metadata": {**document["metadata"], "namespace": name}}
                    compare(client, objects, moved, result)


def run(namespaces: int, pods: int, seed: int) -> Result:
    """Compares random pods in random namespaces."""
    random, result = Random(seed), Result()
    with bare_plane(find_programs(), service_accounts=True) as (_, client):
        for document in _CLUSTER:
            client.create(document)
        time.sleep(2)  # the admission plugins read PriorityClasses from a cache
        compare_checks(client, result)
        prepared = [(f"ns-{number}", prepare(client, random, f"ns-{number}")) for number in range(namespaces)]
        time.sleep(3)  # and LimitRanges and ResourceQuotas
        for name, manifests in prepared:
            objects = ObjectSet([*map(manifest_of, _CLUSTER), *manifests], is_complete=True)
            accepted = None
            for number in range(pods):
                document = random_admission.pod(random, name, f"pod-{number}")
                if compare(client, objects, document, result):
                    accepted = document
            if accepted is not None:
                compare_copies(client, objects, accepted, result)
    return result


def check(namespaces: int = NAMESPACES, pods: int = PODS, seed: int = SEED) -> CheckResult:
    """Compares random pods, for `make conformance` with the default numbers."""
    result = run(namespaces, pods, seed)
    note = ", ".join(f"{count} {outcome}" for outcome, count in result.outcomes.most_common())
    name = "gpuc and the API server agree about Pod Security, LimitRanges and ResourceQuotas of random pods"
    return CheckResult(name, "\n".join(result.disagreements[:20]), note)


def main() -> int:
    """Runs the comparison and prints the numbers and the disagreements."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("namespaces", NAMESPACES), ("pods", PODS), ("seed", SEED)):
        parser.add_argument(f"--{name}", type=int, default=default)
    return report([check(**vars(parser.parse_args()))])


if __name__ == "__main__":
    sys.exit(main())
