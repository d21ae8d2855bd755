"""Objects that the rehearsal creates in tenant namespaces: each object violates only its own policy."""

from collections.abc import Iterator
from typing import Any

import pytest

from gpuc.kubernetes.controllers import JOB_CONTROLLER, user
from gpuc.kubernetes.resource_name import plural
from gpuc.model import Cluster
from gpuc.policy.library import policies
from gpuc_rehearsal.crds import EXPOSED
from gpuc_rehearsal.examples import examples
from gpuc_rehearsal.exposed_samples import granted_samples
from gpuc_rehearsal.sample_workloads import SampleObject, WorkloadFactory, permitted_samples
from gpuc_rehearsal.suites.policies import emitted_name
from gpuc_rehearsal.violations import violations
from tests.conftest import EXAMPLES, example

from .kubernetes_cel import Object, Review, denials
from .test_constraints import constraints

every_cluster = pytest.mark.parametrize("name", EXAMPLES)


def factories(cluster: Cluster) -> Iterator[WorkloadFactory]:
    return (WorkloadFactory(cluster, tenant, namespace) for tenant, namespace in cluster.namespaces)


def broken(factory: WorkloadFactory, parameters: dict[str, Any], document: Object, name: str) -> set[str]:
    """Returns the policies that refuse the creation of the object by a user."""
    group = document["apiVersion"].rpartition("/")[0]
    review = Review(document, request={"operation": "CREATE", "userInfo": {"username": name}})
    found = set()
    for policy in policies().values():
        matches = any(group in row["apiGroups"] and document["kind"] in row["kinds"] for row in policy.kinds)
        own = parameters.get(emitted_name(factory, policy.name))
        if matches and own is not None and denials(policy.variables, policy.validations, own, review):
            found.add(policy.name)
    return found


def creator(factory: WorkloadFactory, sample: SampleObject) -> str:
    """Returns the user that creates an object: the Job controller creates the pods that Kueue counts."""
    spec = sample.document.get("spec", {})
    quotas = [quota.pool.name for quota in factory.namespace.quotas]
    is_counted = spec.get("nodeSelector", {}).get("gpuc.dev/pool") in quotas
    is_of_job = (
        sample.document["kind"] == "Pod" and sample.policy not in ("gpu-quota", "owned-workloads") and not is_counted
    )
    return user(JOB_CONTROLLER) if is_of_job else "member"


def tried(factory: WorkloadFactory) -> Iterator[SampleObject]:
    yield from permitted_samples(factory)
    yield from granted_samples(factory)
    yield from violations(factory)


@pytest.mark.share(3)
@every_cluster
def test_an_object_breaks_its_own_policy_alone(name: str) -> None:
    cluster = example(name)
    parameters = {constraint.name: constraint.body["spec"].get("parameters", {}) for constraint in constraints(cluster)}
    wrong = {}
    for factory in factories(cluster):
        for sample in tried(factory):
            expected = (
                {sample.policy} if sample.policy and emitted_name(factory, sample.policy) in parameters else set()
            )
            found = broken(factory, parameters, sample.document, creator(factory, sample))
            if found != expected:
                wrong[f"{factory.namespace.name} {sample.policy} {sample.name}"] = found
    assert wrong == {}


def test_the_webhook_gets_exposed_kinds_by_the_names_of_their_definitions() -> None:
    kinds = {
        (group, kind) for row in policies()["exposure"].kinds for group in row["apiGroups"] for kind in row["kinds"]
    }
    named = {(table.group, table.kind): table.plural for table in EXPOSED}
    assert named.items() <= {kind: plural(*kind) for kind in kinds}.items()
    assert kinds - named.keys() == {("", "Service"), ("networking.k8s.io", "Ingress"), XLISTENERSET}


XLISTENERSET = ("gateway.networking.x-k8s.io", "XListenerSet")
"""The older kind of ListenerSets, which the rehearsal does not serve."""


def test_the_examples_that_a_policy_names_are_its_own() -> None:
    for policy in policies().values():
        denied = {found.title for found in examples(policy) if found.denied and found.before is None}
        assert {row["example"] for row in policy.violations} <= denied
        assert all(row.keys() <= {"example", "podSecurity"} for row in policy.violations)
