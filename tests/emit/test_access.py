"""Rights of people and pods: roles of several groups, auditors, and ServiceAccounts with IAM roles."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.catalog import schemas
from gpuc.diagnostics.finding import Finding, StageError
from gpuc.isolation.access import findings as access_findings
from gpuc.isolation.access.permissions import Grant, granted_permissions
from gpuc.lint.checks import findings as lint_findings
from gpuc.manifest.manifest import Artifact, Manifest
from gpuc.objects.object_set import emitted
from gpuc.source import Source
from gpuc.spec.parse import parse
from tests.emit import fleet
from tests.pipeline.memory import compile_tree, source
from tests.tables import table

pytestmark = pytest.mark.usefixtures("without_lint")
CLUSTER = "vega-prod"
RBAC = "rbac.authorization.k8s.io"
READING = {"get", "list", "watch"}
NOT_READ = {"AppProject", "Application"}
"""Kinds that Argo CD reads in its own cluster. Argo CD shows them to the users that its own RBAC permits."""


def compiled(**changes: Any) -> tuple[list[Finding], list[Artifact]]:
    """The findings and artifacts of the example with other values of keys of `spec`."""
    tree = source(CLUSTER).tree
    return compile_tree(CLUSTER, {**tree, "spec": {**tree["spec"], **changes}})


def tenants_with(tenant: str, **changes: Any) -> dict[str, Any]:
    """The tenants of the example, with other values of keys of a tenant."""
    tenants: dict[str, Any] = source(CLUSTER).tree["spec"]["tenants"]
    return {**tenants, tenant: {**tenants[tenant], **changes}}


def manifests(artifacts: list[Artifact], kind: str, namespace: str = "") -> list[Manifest]:
    return [part for part in fleet.of_kind(artifacts, kind) if part.namespace == namespace]


def groups_of(binding: Manifest) -> list[str]:
    return [subject["name"] for subject in binding.body["subjects"]]


def parse_findings(**changes: Any) -> list[Finding]:
    tree = source(CLUSTER).tree
    changed: Source = replace(source(CLUSTER), tree={**tree, "spec": {**tree["spec"], **changes}}, raw={})
    with pytest.raises(StageError) as stop:
        parse(changed)
    return list(stop.value.findings)


def test_entries_with_the_same_role_have_one_binding() -> None:
    entries = [{"groups": ["a"], "role": "edit"}, {"groups": ["b", "a"], "role": "edit", "namespaces": ["nlp-lab"]}]
    _, artifacts = compiled(tenants=tenants_with("nlp", members=entries), accept={"RBA011": "test"})
    (binding,) = manifests(artifacts, "RoleBinding", "nlp-lab")
    assert groups_of(binding) == ["a", "b"]


@pytest.mark.slow
def test_a_list_with_one_entry_is_the_same_as_a_map() -> None:
    entry = {"groups": ["oidc:finance"], "role": "edit"}
    forms = []
    for members in (entry, [entry], [{**entry, "namespaces": ["finance-notebooks", "finance-train"]}]):
        _, artifacts = compiled(tenants=tenants_with("finance", members=members))
        forms.append([part.document() for part in artifacts if isinstance(part, Manifest)])
    assert forms[0] == forms[1] == forms[2]


@pytest.mark.parametrize(
    ("members", "message"),
    table(__file__, "members.yaml")["wrong"],
)
def test_wrong_members_have_one_finding(members: Any, message: str) -> None:
    assert [finding.message for finding in parse_findings(tenants=tenants_with("nlp", members=members))] == [message]


def test_an_unknown_namespace_of_members_has_a_suggestion() -> None:
    entries = [{"groups": ["a"], "role": "edit", "namespaces": ["nlp-labs"]}]
    (finding,), _ = compiled(tenants=tenants_with("nlp", members=entries))
    assert finding.path == ("spec", "tenants", "nlp", "members", 0, "namespaces", 0)
    assert (finding.id, finding.fix) == ("VER003", "write nlp-lab")


def auditor_objects(artifacts: list[Artifact]) -> list[Manifest]:
    """The ClusterRole and the ClusterRoleBinding of the auditors."""
    return [part for part in artifacts if isinstance(part, Manifest) and part.name == "gpuc-auditor"]


def auditor_rules(artifacts: list[Artifact]) -> list[dict[str, Any]]:
    role, binding = auditor_objects(artifacts)
    assert binding.body["roleRef"] == {"apiGroup": RBAC, "kind": "ClusterRole", "name": role.name}
    rules: list[dict[str, Any]] = role.body["rules"]
    return rules


def test_auditors_have_no_right_that_would_be_forbidden_for_a_tenant_in_all_namespaces() -> None:
    for rule in auditor_rules(compiled()[1]):
        grant = Grant(tuple(rule["apiGroups"]), tuple(rule["resources"]), frozenset(rule["verbs"]), ())
        assert list(granted_permissions(grant)) == []
        assert set(rule["verbs"]) <= READING
        assert "*" not in rule["apiGroups"] and not {"secrets", "pods/log", "nodes/proxy"} & {*rule["resources"]}
        assert "*" not in rule["resources"] or rule["apiGroups"] == ["constraints.gatekeeper.sh"]


def test_auditors_read_every_kind_that_gpuc_emits() -> None:
    _, artifacts = compiled()
    readable = {
        (group, name) for rule in auditor_rules(artifacts) for group in rule["apiGroups"] for name in rule["resources"]
    }
    unread = set()
    for part in artifacts:
        if isinstance(part, Manifest) and "/workloads/" not in part.file and part.kind not in NOT_READ:
            group = part.api.rpartition("/")[0]
            if not {(group, resource(part.api, part.kind)), (group, "*")} & readable:
                unread.add((part.api, part.kind))
    assert unread == set()


def resource(api: str, kind: str) -> str:
    """The resource name of a kind: the plural name in its CRD, or the plural of a built-in kind."""
    group, _, version = api.rpartition("/")
    table = Path(schemas.__file__).parent / f"crds/{group}/{kind}_{version}.json"
    if table.is_file():
        return str(json.loads(table.read_text(encoding="utf-8"))["plural"])
    name = kind.lower()
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}es" if name.endswith("s") else f"{name}s"


def test_an_auditor_that_is_a_member_gets_no_forbidden_right() -> None:
    found, artifacts = compiled(auditors={"groups": ["oidc:nlp"]})
    assert [finding.id for finding in found] == ["RBA013"]
    assert list(access_findings(emitted(artifacts))) == []


@pytest.mark.slow
def test_the_output_with_auditors_has_no_findings_of_lint() -> None:
    _, artifacts = compiled()
    assert [finding for finding in lint_findings(emitted(artifacts)) if finding.rule.id.startswith("RBA")] == []


def test_the_project_permits_the_kinds_of_the_roles() -> None:
    unmanaged = {
        name: {"managed": False}
        for name in ("karpenter", "karpenter-crd", "kueue", "gatekeeper", "gpu-operator", "efa")
    }
    _, artifacts = compiled(components=unmanaged)
    (project,) = fleet.of_kind(artifacts, "AppProject")
    cluster_kinds = {row["kind"] for row in project.body["spec"]["clusterResourceWhitelist"]}
    assert {"ClusterRole", "ClusterRoleBinding"} <= cluster_kinds
    assert "ServiceAccount" in {row["kind"] for row in project.body["spec"]["namespaceResourceWhitelist"]}


def test_auditors_need_no_tenants() -> None:
    tree = source(CLUSTER).tree
    others = ("tenants", "queues", "cohorts", "policies", "components", "observability")
    spec = {key: value for key, value in tree["spec"].items() if key not in others}
    _, artifacts = compile_tree(CLUSTER, {**tree, "spec": {**spec, "accept": {"QUE001": "test"}}})
    applications = {part.name for part in fleet.of_kind(artifacts, "Application")}
    assert auditor_objects(artifacts) and f"{CLUSTER}-tenants" in applications


def test_a_service_account_has_a_token_for_the_api_server_only_if_the_tenant_may_connect_to_it() -> None:
    _, artifacts = compiled()
    (account,) = manifests(artifacts, "ServiceAccount", "nlp-train")
    assert (account.name, account.body) == ("trainer", {"automountServiceAccountToken": False})
    known = source(CLUSTER).tree["spec"]["network"]
    network = {**known, "apiServerCidrs": ["10.40.250.0/28"], "serviceCidr": "172.20.0.0/16"}
    _, artifacts = compiled(network=network, tenants=tenants_with("nlp", network={"apiServer": True}))
    (account,) = manifests(artifacts, "ServiceAccount", "nlp-train")
    assert account.body == {"automountServiceAccountToken": True}


def accounts(name: str, role: str) -> dict[str, Any]:
    """The tenants of the example, with one ServiceAccount."""
    namespace = {"podSecurity": "baseline", "serviceAccounts": {name: {"role": role}}}
    return tenants_with("nlp", namespaces={"nlp-lab": namespace}, network={})


@pytest.mark.parametrize(
    ("name", "role", "part"),
    [
        (
            "default",
            "arn:aws:iam::111122223333:role/a",
            "is the ServiceAccount of all pods that name no ServiceAccount",
        ),
        ("Trainer", "arn:aws:iam::111122223333:role/a", "is not a name of a ServiceAccount"),
        ("a;id", "arn:aws:iam::111122223333:role/a", "is not a name of a ServiceAccount"),
        ("a", "arn:aws:iam::111122223333:user/a", "is not the ARN of an IAM role"),
        ("a", "arn:aws:iam::1111:role/a", "is not the ARN of an IAM role"),
        ("a", "arn:aws:iam::111122223333:role/a$(id)", "is not the ARN of an IAM role"),
        ("a", "arn:aws:iam::111122223333:role/a\n", "is not the ARN of an IAM role"),
    ],
)
def test_a_wrong_service_account_has_a_sentence_without_a_pattern(name: str, role: str, part: str) -> None:
    (finding,) = parse_findings(tenants=accounts(name, role))
    assert part in finding.message and "[a-z" not in finding.message
    assert finding.on_key is (name != "a")


def test_the_readme_has_a_safe_command_for_each_service_account() -> None:
    role = "arn:aws:iam::111122223333:role/teams/nlp+a=b,c.d@e_f-g"
    _, artifacts = compiled(tenants=accounts("loader.v1", role))
    text = fleet.readme(artifacts)
    commands = [
        shlex.split(command.replace("\\\n", " "))
        for command in re.findall(r"aws eks create-pod-identity-association(?:.*\\\n)*.*", text)
    ]
    expected = [
        "aws", "eks", "create-pod-identity-association", "--region", "eu-central-1", "--cluster-name", CLUSTER,
        "--namespace", "nlp-lab", "--service-account", "loader.v1", "--role-arn", role,
    ]  # fmt: skip
    assert expected in commands and "eks-pod-identity-agent" in text


def test_a_queue_for_one_namespace_is_a_quota_for_one_namespace() -> None:
    spec = source(CLUSTER).tree["spec"]
    nlp = spec["queues"]["nlp"]
    slices = {"train": {"2g.10gb": 40, "1g.5gb": 8}, "lab": {"2g.10gb": 8, "1g.5gb": 8}}
    train = {**nlp, "quota": {**nlp["quota"], "slices-a100": {"slices": slices["train"]}}}
    lab = {"tenants": ["nlp"], "quota": {"slices-a100": {"slices": slices["lab"]}}}
    namespaces = {
        name: {"podSecurity": "baseline", "queues": [queue]}
        for name, queue in (("nlp-train", "nlp"), ("nlp-lab", "lab"))
    }
    found, artifacts = compiled(
        queues={**spec["queues"], "nlp": train, "lab": lab}, tenants=tenants_with("nlp", namespaces=namespaces)
    )
    assert found == []
    for namespace, key in (("nlp-train", "train"), ("nlp-lab", "lab")):
        (quota,) = (part for part in manifests(artifacts, "ResourceQuota", namespace) if part.name == "gpuc")
        for profile, count in slices[key].items():
            assert quota.body["spec"]["hard"][f"requests.nvidia.com/mig-{profile}"] == str(count)
    assert [part.name for part in manifests(artifacts, "LocalQueue", "nlp-lab")] == ["lab"]
