"""ValidatingAdmissionPolicies with their bindings, and policies that gpuc does not evaluate."""

from typing import Any

import pytest

from gpuc.manifest.manifest import Manifest
from tests.admission.test_policies_of_gatekeeper import POD, Object, decide, outcomes
from tests.tables import table

API = "admissionregistration.k8s.io/v1"
PODS: Object = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}


def policy(matched: Object | None = None, kind: str = "ValidatingAdmissionPolicy", **spec: Any) -> Manifest:
    constraints = {"resourceRules": [PODS]} if matched is None else matched
    validations = [{"expression": "false", "message": "no"}]
    body = {"spec": {"matchConstraints": constraints, "validations": validations, **spec}}
    return Manifest("p.yaml", (), API, kind, "rule", body)


def binding(kind: str = "ValidatingAdmissionPolicyBinding", **spec: Any) -> Manifest:
    body = {"spec": {"policyName": "rule", "validationActions": ["Deny"], **spec}}
    return Manifest("b.yaml", (), API, kind, "rule", body)


@pytest.mark.parametrize(
    ("matched", "outcome"),
    [
        (None, ["denied"]),
        ({"resourceRules": [{**PODS, "operations": ["UPDATE"]}]}, []),
        ({"resourceRules": [{**PODS, "operations": ["*"]}]}, ["denied"]),
        ({"resourceRules": [{**PODS, "resources": ["*"]}]}, ["denied"]),
        ({"resourceRules": [{**PODS, "resources": ["pods/exec"]}]}, []),
        ({"resourceRules": [{**PODS, "apiVersions": ["v9"]}]}, []),
        ({"resourceRules": [{**PODS, "resourceNames": ["other"]}]}, []),
        ({"resourceRules": [{**PODS, "scope": "Cluster"}]}, []),
        ({"resourceRules": [PODS], "excludeResourceRules": [PODS]}, []),
        ({"resourceRules": [PODS], "objectSelector": {"matchLabels": {"app": "y"}}}, []),
        ({"resourceRules": [PODS], "namespaceSelector": {"matchLabels": {"team": "b"}}}, []),
        ({"resourceRules": [PODS], "namespaceSelector": {"matchLabels": {"team": "a"}}}, ["denied"]),
    ],
)
def test_the_match_constraints(matched: Object | None, outcome: list[str]) -> None:
    assert outcomes(policy(matched), binding()) == outcome


def test_a_policy_without_a_binding_does_nothing() -> None:
    assert decide(policy()) == []
    assert decide(policy(), binding(matchResources={"namespaceSelector": {"matchLabels": {"team": "b"}}})) == []


@pytest.mark.parametrize(
    ("actions", "outcome"),
    [(["Deny"], ["denied"]), (["Warn"], ["warned"]), (["Audit"], []), (["Deny", "Audit"], ["denied"])],
)
def test_the_validation_actions(actions: list[str], outcome: list[str]) -> None:
    assert outcomes(policy(), binding(validationActions=actions)) == outcome


def test_the_decision_names_the_policy_and_the_message() -> None:
    (found,) = decide(policy(), binding())
    assert (found.check, found.message) == ("ValidatingAdmissionPolicy rule", "no")
    assert found.manifest is not None and found.manifest.kind == "ValidatingAdmissionPolicy"


def test_match_conditions_variables_and_the_namespace() -> None:
    assert (
        decide(policy(matchConditions=[{"name": "a", "expression": 'request.userInfo.username == "bob"'}]), binding())
        == []
    )
    variables = [{"name": "team", "expression": "namespaceObject.metadata.labels.team"}]
    validations = [{"expression": 'variables.team == "a"'}]
    assert outcomes(policy(variables=variables, validations=validations), binding()) == ["allowed"]


def test_parameters() -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    rule = policy(paramKind=kind, validations=[{"expression": 'params.data.allow == "yes"', "message": "not allowed"}])
    bound = binding(paramRef={"name": "rules", "namespace": "team-a", "parameterNotFoundAction": "Deny"})
    data = {"data": {"allow": "no"}}
    config = Manifest("m.yaml", (), "v1", "ConfigMap", "rules", data, "team-a")
    assert [found.message for found in decide(rule, bound, config)] == ["not allowed"]
    (missing,) = decide(rule, bound)
    assert (missing.outcome, "no params found" in missing.message) == ("denied", True)
    assert outcomes(rule, bound, is_complete=False) == ["unknown"]
    allowed = binding(paramRef={"name": "rules", "namespace": "team-a", "parameterNotFoundAction": "Allow"})
    assert decide(rule, allowed) == []


def test_the_failure_policy() -> None:
    validations = [{"expression": "object.spec.missing == 1"}]
    (found,) = decide(policy(validations=validations), binding())
    assert found.message == "expression 'object.spec.missing == 1' resulted in error: no such key: missing"
    assert outcomes(policy(validations=validations, failurePolicy="Ignore"), binding()) == ["allowed"]


def test_the_authorizer_is_unknown() -> None:
    validations = [{"expression": 'authorizer.group("").resource("pods").check("get").allowed()'}]
    (found,) = decide(policy(validations=validations), binding())
    assert found.outcome == "unknown"
    assert found.message.startswith("ValidatingAdmissionPolicy rule with ValidatingAdmissionPolicyBinding rule is not")


def test_a_mutating_policy_is_unknown_where_it_applies() -> None:
    kind = "MutatingAdmissionPolicy"
    assert outcomes(policy(kind=kind), binding(f"{kind}Binding")) == ["unknown"]
    assert decide(policy(kind=kind)) == []
    never = policy(kind=kind, matchConditions=[{"name": "a", "expression": "false"}])
    assert decide(never, binding(f"{kind}Binding")) == []


@pytest.mark.parametrize("row", table(__file__, "policies.yaml")["kyverno"])
def test_policies_of_kyverno_are_unknown_for_kinds_for_which_kyverno_has_rules(row: Object) -> None:
    kyverno = Manifest("k.yaml", (), "kyverno.io/v1", "ClusterPolicy", "k", {"spec": row["spec"]})
    document = {**POD, "apiVersion": row["of"], "kind": "Job"} if "of" in row else POD
    assert outcomes(kyverno, document=document) == row["outcomes"]
