"""Documents of any shape: users can write values of wrong types."""

from random import Random
from typing import Any

from gpuc.admission.limit_ranges import limit_range_decisions
from gpuc.admission.mutating import mutated
from gpuc.admission.other_webhooks import webhook_decisions
from gpuc.admission.pod_security import pod_security
from gpuc.admission.references import reference_decisions
from gpuc.admission.request import Request
from gpuc.admission.resource_quotas import quota_decisions
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from tests.conformance import random_admission
from tests.values import changed, paths

VALUES: tuple[Any, ...] = (None, True, -1, 2.5, "", "x", [], [None], ["x"], {}, {"a": None}, [[]], 10**30)
ROUNDS = 400


def _broken(random: Random, document: Any) -> Any:
    """Returns a copy of a document in which one value below the kind is another one."""
    path = random.choice([path for path in paths(document) if len(path) > 1 and path[0] != "metadata"])
    return changed(document, path, random.choice(VALUES))


def _manifest(document: Any) -> Manifest:
    metadata = document["metadata"]
    return Manifest(
        "f.yaml", (), document["apiVersion"], document["kind"], metadata["name"], {"spec": document["spec"]}, "a"
    )


def test_every_document_gets_decisions_with_a_message_and_no_exception() -> None:
    random, outcomes = Random(16), set[str]()
    for _ in range(ROUNDS):
        limits = _broken(random, random_admission.limit_range(random, "a"))
        quota = _broken(random, random_admission.resource_quota(random, "a", "quota"))
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        namespace = Manifest("f.yaml", (), "v1", "Namespace", "a", {}, labels=labels)
        objects = ObjectSet([namespace, _manifest(limits), _manifest(quota)], is_complete=True)
        request = mutated(objects, Request(_broken(random, random_admission.pod(random, "a", "p")), "user"))
        made = [*quota_decisions(objects, "a", [(request, 3)])]
        for decisions in (pod_security, reference_decisions, limit_range_decisions, webhook_decisions):
            made += decisions(objects, request)
        assert all(decision.check and decision.message for decision in made if decision.outcome != "allowed")
        outcomes |= {decision.outcome for decision in made}
    assert {"allowed", "denied"} <= outcomes
