"""The semantics of Gatekeeper: match, enforcement, expansion, parameters, engines and mutators."""

from typing import Any

import pytest

from gpuc.admission.policies import Policies
from gpuc.admission.request import Decision, Request
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from tests.tables import table

Object = dict[str, Any]
CASES = table(__file__, "policies.yaml")["gatekeeper"]
DENIES: Object = {"validations": [{"expression": "false", "message": "no"}]}
NAMESPACE = Manifest("n.yaml", (), "v1", "Namespace", "team-a", {}, labels={"team": "a"})
POD: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "run-1", "namespace": "team-a", "labels": {"app": "x"}},
    "spec": {"containers": [{"name": "main", "image": "a/b"}]},
}
JOB: Object = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "run", "namespace": "team-a"},
    "spec": {"template": {"metadata": {"labels": {"app": "x"}}, "spec": POD["spec"]}},
}
EXPANSION = Manifest(
    "e.yaml", (), "expansion.gatekeeper.sh/v1beta1", "ExpansionTemplate", "jobs",
    {"spec": {
        "applyTo": [{"groups": ["batch"], "versions": ["v1"], "kinds": ["Job"]}],
        "templateSource": "spec.template",
        "generatedGVK": {"group": "", "version": "v1", "kind": "Pod"},
    }},
)  # fmt: skip


def template(source: Object | None = None, schema: Object | None = None, **target: Any) -> Manifest:
    code = [{"engine": "K8sNativeValidation", "source": source or DENIES}]
    crd = {"spec": {"names": {"kind": "Check"}, "validation": {"openAPIV3Schema": schema or {"type": "object"}}}}
    body = {"spec": {"crd": crd, "targets": [{"target": "admission.k8s.gatekeeper.sh", "code": code, **target}]}}
    return Manifest("t.yaml", (), "templates.gatekeeper.sh/v1", "ConstraintTemplate", "check", body)


def constraint(match: Object | None = None, name: str = "check", **spec: Any) -> Manifest:
    body = {"spec": {**spec, **({"match": match} if match is not None else {})}}
    return Manifest("c.yaml", (), "constraints.gatekeeper.sh/v1beta1", "Check", name, body)


def decide(
    *manifests: Manifest,
    document: Object = POD,
    user: str = "alice",
    values: Object | None = None,
    is_complete: bool = True,
) -> list[Decision]:
    """The decisions of policies about the creation of an object."""
    objects = ObjectSet([NAMESPACE, *manifests], is_complete=is_complete, values={"gatekeeper": values or {}})
    return list(Policies(objects).decide(Request(document, user)))


def outcomes(*manifests: Manifest, **options: Any) -> list[str]:
    return [decision.outcome for decision in decide(*manifests, **options)]


@pytest.mark.parametrize("match", [None, *CASES["matched"]])
def test_a_constraint_matches(match: Object | None) -> None:
    assert outcomes(template(), constraint(match)) == ["denied"]


@pytest.mark.parametrize("match", CASES["not_matched"])
def test_a_constraint_does_not_match(match: Object) -> None:
    assert outcomes(template(), constraint(match)) == []


@pytest.mark.parametrize("match", [{"scope": "Cluster"}, {"source": "Generated"}])
def test_the_policies_of_the_api_server_ignore_scope_and_source(match: Object) -> None:
    assert outcomes(template(), constraint(match)) == ["denied"]
    assert outcomes(template({**DENIES, "generateVAP": False}), constraint(match)) == []
    assert outcomes(template(), constraint(match), values={"defaultCreateVAPForTemplates": False}) == []


def test_a_prefix_matches_a_generated_name() -> None:
    metadata = {"generateName": "batch-", "namespace": "team-a"}
    source = {"validations": [{"expression": 'object.metadata.name.startsWith("batch-")', "message": "no name"}]}
    assert outcomes(template(source), constraint({"name": "batch-*"}), document={**POD, "metadata": metadata}) == [
        "allowed"
    ]


@pytest.mark.parametrize("row", CASES["actions"])
def test_the_enforcement_action(row: Object) -> None:
    assert outcomes(template(), constraint(**row["spec"])) == row["outcomes"]


def test_a_constraint_without_its_template_judges_nothing() -> None:
    assert decide(constraint()) == []


def test_the_config_and_the_labels_of_the_webhook_exclude_namespaces() -> None:
    match = [{"processes": ["webhook"], "excludedNamespaces": ["team-*"]}]
    api = "config.gatekeeper.sh/v1alpha1"
    config = Manifest("c.yaml", (), api, "Config", "config", {"spec": {"match": match}}, "gk")
    assert decide(template(), constraint(), config) == []
    audit = [{"processes": ["audit"], "excludedNamespaces": ["*"]}]
    only_audit = Manifest("c.yaml", (), api, "Config", "config", {"spec": {"match": audit}}, "gk")
    assert outcomes(template(), constraint(), only_audit) == ["denied"]
    exempt = {"validatingWebhookExemptNamespacesLabels": {"team": ["a"]}}
    assert decide(template(), constraint(), values=exempt) == []
    rules = [{"apiGroups": ["batch"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["jobs"]}]
    assert decide(template(), constraint(), values={"validatingWebhookCustomRules": rules}) == []
    conditions = [{"name": "other", "expression": 'request.userInfo.username != "alice"'}]
    assert decide(template(), constraint(), values={"validatingWebhookMatchConditions": conditions}) == []
    assert outcomes(template(), constraint(), user="bob", values={"validatingWebhookMatchConditions": conditions}) == [
        "denied"
    ]


def test_the_pods_of_a_job_are_evaluated_as_generated_objects() -> None:
    pods = {"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]}
    (found,) = decide(template(), constraint(pods), EXPANSION, document=JOB)
    assert (found.outcome, found.message) == ("denied", "[Implied by jobs] no")
    assert decide(template(), constraint({**pods, "source": "Original"}), EXPANSION, document=JOB) == []
    off = {"enableGeneratorResourceExpansion": False}
    assert decide(template(), constraint(pods), EXPANSION, document=JOB, values=off) == []


def test_the_expanded_pod_has_a_name_an_owner_and_no_user() -> None:
    owner = 'object.metadata.ownerReferences.exists(o, o.kind == "Job" && o.name == "run")'
    checks = [
        'object.metadata.name == "run-pod"', 'object.metadata.namespace == "team-a"', owner,
        'object.metadata.labels["app"] == "x"', "!has(request.userInfo.username)",
        'namespaceObject.metadata.labels["team"] == "a"',
    ]  # fmt: skip
    source = {"validations": [{"expression": check} for check in checks]}
    pods = {"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]}
    assert outcomes(template(source), constraint(pods), EXPANSION, document=JOB) == ["allowed"]


def test_the_action_of_an_expansion_replaces_the_action_of_the_constraint() -> None:
    pods = {"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]}
    spec = {**EXPANSION.body["spec"], "enforcementAction": "warn"}
    expansion = Manifest("e.yaml", (), EXPANSION.api, EXPANSION.kind, "jobs", {"spec": spec})
    for action in ("deny", "dryrun"):
        assert outcomes(template(), constraint(pods, enforcementAction=action), expansion, document=JOB) == ["warned"]


def test_parameters_get_the_defaults_of_the_schema() -> None:
    schema = {"type": "object", "properties": {"limit": {"type": "integer", "default": 3}, "name": {"type": "string"}}}
    source = {"validations": [{"expression": "variables.params.limit == 3", "message": "other limit"}]}
    assert outcomes(template(source, schema), constraint(parameters={"name": "x"})) == ["allowed"]
    assert outcomes(template(source, schema), constraint(parameters={"limit": 4})) == ["denied"]
    nothing = {"validations": [{"expression": "variables.params == null"}]}
    assert outcomes(template(nothing, schema), constraint()) == ["allowed"]


def test_the_variables_of_gatekeeper() -> None:
    checks = ["variables.anyObject == object", "oldObject == null", 'request.operation == "CREATE"', "!request.dryRun",
              'request.kind.kind == "Pod"', 'request.resource.resource == "pods"', 'request.namespace == "team-a"',
              'request.userInfo.username == "alice"', '"system:authenticated" in request.userInfo.groups',
              'request.options.kind == "CreateOptions"', 'request.name == "run-1"']  # fmt: skip
    for check in checks:
        assert outcomes(template({"validations": [{"expression": check}]}), constraint()) == ["allowed"], check


def test_a_failing_variable_matters_only_if_it_is_used() -> None:
    variables = [{"name": "broken", "expression": "object.spec.missing"}]
    used = {"variables": variables, "validations": [{"expression": "variables.broken == 1"}]}
    (found,) = decide(template(used), constraint())
    assert (found.outcome, found.message) == (
        "denied",
        "expression 'variables.broken == 1' resulted in error: composited variable \"broken\" fails to evaluate: "
        "no such key: missing",
    )
    assert outcomes(template({**used, "failurePolicy": "Ignore"}), constraint()) == ["allowed"]
    absorbed = {**used, "validations": [{"expression": 'object.kind == "Pod" || variables.broken == 1'}]}
    assert outcomes(template(absorbed), constraint()) == ["allowed"]


def test_match_conditions_limit_a_template() -> None:
    def conditions(expression: str, **more: Any) -> Manifest:
        return template({**DENIES, "matchCondition": [{"name": "a", "expression": expression}], **more})

    assert decide(conditions("false"), constraint()) == []
    assert outcomes(conditions("true"), constraint()) == ["denied"]
    assert outcomes(conditions("object.spec.missing == 1"), constraint()) == ["denied"]
    assert decide(conditions("object.spec.missing == 1", failurePolicy="Ignore"), constraint()) == []


def test_the_message_is_that_of_the_api_server() -> None:
    def message(**validation: Any) -> str:
        return decide(template({"validations": [{"expression": "1 == 2", **validation}]}), constraint())[0].message

    assert message(messageExpression='"pod " + object.metadata.name', message="x") == "pod run-1"
    assert message(messageExpression="object.spec.missing", message="x") == "x"
    assert message(messageExpression='"a\\nb"', message=" x ") == "x"
    assert message() == "failed expression: 1 == 2"


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ({"code": [], "rego": "package x"}, "gpuc does not evaluate Rego"),
        ({"code": [{"engine": "Rego", "source": {"rego": "package x"}}]}, "gpuc does not evaluate Rego"),
    ],
)
def test_other_engines_are_unknown(target: Object, reason: str) -> None:
    (found,) = decide(template(**target), constraint())
    assert (found.outcome, found.check) == ("unknown", "constraint check")
    assert found.message == f"Check check is not evaluated: {reason}"


def test_a_function_that_gpuc_lacks_is_unknown_unless_it_does_not_matter() -> None:
    call = 'authorizer.group("").resource("pods").check("get").allowed()'
    (found,) = decide(template({"validations": [{"expression": call}]}), constraint())
    assert found.outcome == "unknown"
    assert "Check check is not evaluated: gpuc does not evaluate this call of the function" in found.message
    variables = [{"name": "may", "expression": call}]
    source = {"variables": variables, "validations": [{"expression": 'object.kind == "Pod" || variables.may'}]}
    assert outcomes(template(source), constraint()) == ["allowed"]
    source = {"variables": variables, "validations": [{"expression": "variables.may"}]}
    assert outcomes(template(source), constraint()) == ["unknown"]
    source = {"variables": variables, "validations": [{"expression": "variables.may"}, {"expression": "false"}]}
    assert outcomes(template(source), constraint()) == ["denied"]


def test_mutators_are_unknown() -> None:
    apply_to = [{"groups": [""], "versions": ["v1"], "kinds": ["Pod"]}]
    spec = {"applyTo": apply_to, "match": {"namespaces": ["team-a"]}, "location": "spec.x"}
    mutator = Manifest("m.yaml", (), "mutations.gatekeeper.sh/v1", "Assign", "set-x", {"spec": spec})
    (found,) = decide(mutator)
    assert (found.outcome, found.check) == ("unknown", "mutator set-x")
    assert decide(mutator, values={"disableMutation": True}) == []
    assert decide(mutator, document=JOB) == []
    elsewhere = Manifest("m.yaml", (), mutator.api, "Assign", "x", {"spec": {**spec, "match": {"namespaces": ["b"]}}})
    assert decide(elsewhere) == []
