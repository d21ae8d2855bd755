"""The schema checks report mistakes in emitted objects."""

from typing import Any

import pytest

from gpuc import verify
from gpuc.diagnostics.finding import Finding
from gpuc.lint.checks.quotas.namespace_limits import limit_ranges
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.verify.fields.schema import schema_findings
from gpuc.verify.subject import Subject
from tests.verify.findings import verify_schemas

ORIGIN = ("spec", "pools", "train-h100")
NODE_CLASS_REF = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "train-h100"}


def node_pool(*, limits: dict[str, str] | None = None, **template: Any) -> Manifest:
    requirement = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["p5.48xlarge"]}
    node = {"nodeClassRef": NODE_CLASS_REF, "requirements": [requirement], **template}
    body = {"spec": {"template": {"spec": node}, "limits": limits or {"cpu": "768"}}}
    return Manifest("out/a/karpenter/pools/train-h100.yaml", ORIGIN, "karpenter.sh/v1", "NodePool", "train-h100", body)


def config_map(name: str = "nccl", *, file: str = "c.yaml", namespace: str = "research", **more: Any) -> Manifest:
    return Manifest(file, ("spec",), "v1", "ConfigMap", name, {"data": {"A": "b"}}, namespace, **more)


def template(**parameters: Any) -> Manifest:
    source = {"validations": [{"expression": "true", "message": "never"}]}
    code = [{"engine": "K8sNativeValidation", "source": source}]
    crd = {"names": {"kind": "GpuLimit"}, "validation": {"openAPIV3Schema": {"type": "object", **parameters}}}
    body = {"spec": {"crd": {"spec": crd}, "targets": [{"target": "admission.k8s.gatekeeper.sh", "code": code}]}}
    api = "templates.gatekeeper.sh/v1"
    return Manifest("t.yaml", ("spec",), api, "ConstraintTemplate", "gpulimit", body)


def constraint(**parameters: Any) -> Manifest:
    spec = {"enforcementAction": "deny", "match": {"scope": "Namespaced"}, "parameters": parameters}
    return Manifest("k.yaml", ("spec",), "constraints.gatekeeper.sh/v1beta1", "GpuLimit", "limit", {"spec": spec})


def ids(found: list[Finding]) -> list[str]:
    return [item.id for item in found]


def test_correct_objects_have_no_findings() -> None:
    limit = {"max": {"type": "integer"}}
    assert verify_schemas([node_pool(), config_map(), template(properties=limit), constraint(max=8)], "1.35") == []


def test_a_misspelled_field_has_a_finding_with_file_object_path_and_suggestion() -> None:
    (found,) = verify_schemas([node_pool(expiresAfter="Never")], "1.35")
    assert found.id == "SCH001"
    assert found.path == ORIGIN
    assert found.message == (
        "out/a/karpenter/pools/train-h100.yaml: NodePool train-h100: spec.template.spec.expiresAfter: "
        'unknown field, did you mean "expireAfter"'
    )


def test_all_mistakes_of_all_objects_are_reported() -> None:
    bad = node_pool(taints=[{"key": "a", "effect": "NoShedule"}, {"value": "b", "effect": "NoSchedule"}], kubelet={})
    found = verify_schemas([bad, config_map(labels={"a": "not a value"})], "1.35")
    assert sorted(ids(found)) == ["SCH001", "SCH002", "SCH003", "SCH006", "SCH007"]


def test_a_kind_of_an_older_version_is_unknown_and_the_newer_version_is_suggested() -> None:
    old = Manifest("o.yaml", ORIGIN, "karpenter.sh/v1beta1", "NodePool", "q", {}, "n")
    (found,) = verify_schemas([old], "1.35")
    assert found.id == "SCH004"
    assert '"karpenter.sh/v1 NodePool"' in found.message


def test_the_form_of_a_name_depends_on_the_group_and_the_kind() -> None:
    core, other = (Manifest("o.yaml", ORIGIN, api, "Service", "1a", {}, "a") for api in ("v1", "example.com/v1"))
    assert "SCH006" in ids(verify_schemas([core], "1.35"))
    assert "SCH006" not in ids(verify_schemas([other], "1.35"))


def test_a_kind_that_is_like_no_other_names_the_command_that_adds_its_schema() -> None:
    strange = Manifest("o.yaml", ORIGIN, "xylophone.example.com/v1", "Zither", "q", {}, "n")
    (found,) = verify_schemas([strange], "1.35")
    assert "tests.derive with --kind xylophone.example.com/v1 Zither" in found.message


@pytest.mark.parametrize(("written", "stored"), [("768000m", "768"), ("2000", "2k"), ("1024Gi", "1Ti")])
def test_a_quantity_that_is_not_canonical_is_reported_with_the_canonical_form(written: str, stored: str) -> None:
    (found,) = verify_schemas([node_pool(limits={"memory": written})], "1.35")
    assert (found.id, found.fix) == ("SCH005", f'"{stored}"')


def test_a_quantity_as_a_number_or_as_other_text_is_refused() -> None:
    found = verify_schemas([node_pool(limits={"cpu": 768, "memory": "2 TiB"})], "1.35")  # type: ignore[dict-item]
    assert ids(found) == ["SCH002", "SCH002"]


def test_parameters_are_checked_against_the_template_of_the_same_tree() -> None:
    declared = template(properties={"max": {"type": "integer", "minimum": 0}}, required=["max"])
    assert ids(verify_schemas([declared, constraint(max="8")], "1.35")) == ["SCH002"]
    assert ids(verify_schemas([declared, constraint(max=8, min=1)], "1.35")) == ["SCH001"]
    assert ids(verify_schemas([declared, constraint(maximum=8)], "1.35")) == ["SCH001", "SCH003"]
    alone = Subject(ObjectSet([constraint(max=8)], is_complete=True), "1.35")
    assert [finding.rule.id for finding in verify.findings(alone)] == ["REF008"]


def test_a_limit_range_of_an_unknown_type_is_one_finding() -> None:
    limit = {"type": "container", "max": {"cpu": "2"}}
    manifest = Manifest("a.yaml", (), "v1", "LimitRange", "a", {"spec": {"limits": [limit]}}, "b")
    assert ids(verify_schemas([manifest], "1.35")) == ["SCH002"]
    assert list(limit_ranges(ObjectSet([manifest], is_complete=False))) == []


def test_a_template_with_a_schema_that_is_invalid_is_reported() -> None:
    found = verify_schemas([template(properties={"max": {"type": "int"}})], "1.35")
    assert ids(found) == ["SCH002"]
    assert "spec.crd.spec.validation.openAPIV3Schema: not a valid schema" in found[0].message


def test_suggestions_include_fields_of_shared_definitions() -> None:
    containers = [{"name": "a", "image": "b", "resources": {"limit": {"cpu": "1"}}}]
    pod = Manifest("p.yaml", ORIGIN, "v1", "Pod", "p", {"spec": {"containers": containers}}, "n")
    (found,) = verify_schemas([pod], "1.36")
    assert found.message.endswith('spec.containers[0].resources.limit: unknown field, did you mean "limits"')


def test_a_misspelled_key_in_the_cel_of_a_template_is_reported() -> None:
    wrong = template()
    wrong.body["spec"]["targets"][0]["code"][0]["source"]["matchConditions"] = [{"name": "a", "expression": "true"}]
    (found,) = verify_schemas([wrong], "1.35")
    assert found.id == "SCH001"
    assert (
        'spec.targets[0].code[0].source.matchConditions: unknown field, did you mean "matchCondition"' in found.message
    )


def test_a_template_that_is_not_named_as_its_kind_is_reported() -> None:
    named = template()
    other = Manifest(named.file, named.origin, named.api, named.kind, "gpu-limit", named.body)
    assert ids(verify_schemas([other], "1.35")) == ["SCH002"]


def test_two_items_of_a_list_map_with_the_same_key_are_refused() -> None:
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 80, "protocol": "UDP"}, {"name": "c", "port": 80}]
    service = Manifest("s.yaml", ORIGIN, "v1", "Service", "s", {"spec": {"ports": ports[:2]}}, "n")
    assert verify_schemas([service], "1.35") == []
    service.body["spec"]["ports"] = [*ports[:2], {"name": "c", "port": 80, "protocol": "UDP"}]
    assert ids(verify_schemas([service], "1.35")) == ["SCH002"]


@pytest.mark.parametrize(
    "made",
    [
        config_map("Nccl"),
        config_map("a" * 254),
        config_map(namespace=""),
        config_map(namespace="a.b"),
        config_map(labels={"gpuc.dev/": "a"}),
        config_map(labels={"Gpuc.dev/a": "a"}),
        config_map(labels={"a": "b" * 64}),
        config_map(annotations={"a b": "c"}),
        config_map(annotations={"a": "c" * 262_144}),
        Manifest("n.yaml", ORIGIN, "v1", "Namespace", "a.b", {}),
        Manifest("n.yaml", ORIGIN, "v1", "Namespace", "a", {}, namespace="b"),
        Manifest("s.yaml", ORIGIN, "v1", "Service", "1a", {"spec": {"ports": [{"port": 80}]}}, "n"),
        Manifest("r.yaml", ORIGIN, "rbac.authorization.k8s.io/v1", "Role", "a/b", {}, "n"),
        Manifest("q.yaml", ORIGIN, "kueue.x-k8s.io/v1beta2", "ClusterQueue", "a" * 64, {}),
    ],
    ids=str,
)
def test_illegal_metadata_is_refused(made: Manifest) -> None:
    assert ids(verify_schemas([made], "1.35")) == ["SCH006"]


def test_legal_metadata_is_accepted() -> None:
    role = Manifest("r.yaml", ORIGIN, "rbac.authorization.k8s.io/v1", "Role", "system:a", {}, "n")
    labelled = config_map("a.b-c", labels={"app.kubernetes.io/name": "a_B.1", "x": ""}, annotations={"A.io/b": "c d"})
    assert verify_schemas([role, labelled], "1.35") == []


def network_policy(**spec: Any) -> Manifest:
    api = "networking.k8s.io/v1"
    return Manifest("p.yaml", ORIGIN, api, "NetworkPolicy", "deny", {"spec": spec}, "research")


def test_empty_values_are_allowed_only_in_fields_where_they_have_a_meaning() -> None:
    deny = network_policy(podSelector={}, policyTypes=["Ingress"], ingress=[])
    assert verify_schemas([deny], "1.35") == []
    everyone = network_policy(podSelector={}, policyTypes=["Ingress"], ingress=[{"from": [{}]}])
    assert ids(verify_schemas([everyone], "1.35")) == ["SCH007"]


def test_an_empty_list_among_parameters_is_a_value_of_the_policy_and_a_missing_list_is_not() -> None:
    declared = template(properties={"allowed": {"type": "array", "items": {"type": "string"}}})
    assert verify_schemas([declared, constraint(allowed=[])], "1.35") == []
    assert ids(verify_schemas([declared, constraint()], "1.35")) == ["SCH007"]


def test_a_null_is_reported_even_in_a_field_that_takes_anything() -> None:
    declared = template(properties={"mode": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}})
    assert ids(verify_schemas([declared, constraint(mode={"a": None})], "1.35")) == ["SCH007"]


def test_one_object_in_two_files_is_reported() -> None:
    found = verify_schemas([config_map(), config_map(file="d.yaml"), config_map(namespace="other")], "1.35")
    assert [item.message for item in found if "already" in item.message] == [
        "d.yaml: ConfigMap research/nccl: c.yaml already contains this object"
    ]


def test_objects_of_one_file_must_be_adjacent() -> None:
    tree = [config_map("a"), config_map("b", file="d.yaml"), config_map("c")]
    assert ids(verify_schemas(tree, "1.35")) == ["SCH008"]
    assert verify_schemas([tree[0], tree[2], tree[1]], "1.35") == []


def test_written_manifests_may_omit_fields_that_have_defaults() -> None:
    pool = node_pool()
    pool.body["spec"]["disruption"] = {"consolidateAfter": "5m", "budgets": [{"reasons": ["Drifted"]}]}
    assert schema_findings([pool], "1.35", as_written=True) == []
    (finding,) = schema_findings([pool], "1.35")
    assert finding.path == ("spec", "disruption", "budgets", 0, "nodes")
