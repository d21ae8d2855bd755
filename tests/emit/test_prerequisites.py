"""The README of a cluster names everything that the output needs from outside, and `gpuc prerequisites` lists it."""

import json
import re
from typing import Any, get_args

import pytest

from gpuc.cli.main import main
from gpuc.diagnostics.finding import Finding
from gpuc.emit.argocd import argocd
from gpuc.emit.policy_facts import controllers
from gpuc.emit.prerequisites import prerequisites
from gpuc.emit.prerequisites.record import wrapped
from gpuc.kubernetes.controllers import JOBSET, user
from gpuc.model import Cluster
from gpuc.needs import contradictions, findings, needs_of
from gpuc.pipeline.stages import compiled_spec
from gpuc.spec.cluster_network import ClusterNetwork
from tests.conftest import EXAMPLES, Variant, root_of
from tests.conftest import compiled_example as example
from tests.emit import fleet
from tests.extra.fleet import SPEC, checked, compiled, write_fleet, write_manifest
from tests.readme.check import only_reads, program_problems

CLUSTERS = (*EXAMPLES, "vega-prod", "vega-staging", "custom-euc1")
each_cluster = pytest.mark.parametrize("name", list(dict.fromkeys(CLUSTERS)))


def readme(cluster: Cluster) -> str:
    return fleet.readme(argocd(cluster))


def chapter(text: str, title: str) -> str:
    """A chapter of the README, from its title to the next title."""
    return re.split(r"\n#{2,3} ", text.partition(f". {title}")[2])[0]


def unnamed(root: Any) -> list[Finding]:
    return [finding for finding in checked(root) if finding.id == "PRE001"]


@pytest.mark.share(6)
@each_cluster
def test_the_proof_names_the_object_that_lacks_a_removed_record(name: str) -> None:
    spec = example(name)
    records = prerequisites(spec.cluster)
    assert findings(spec.cluster, spec.artifacts) == []
    objects = {need.id: need.manifest for need in reversed(needs_of(spec.cluster, spec.artifacts))}
    for record in records:
        others = [item for item in records if item.id != record.id]
        found = findings(spec.cluster, spec.artifacts, others)
        first = [str(finding.manifest) for finding in found if finding.manifest.written is None]
        assert str(objects[record.id]) in [str(finding.manifest) for finding in found], record.id
        assert len(first) <= 1 and all(record.id.partition("/")[2] in finding.message for finding in found)


@each_cluster
def test_an_object_needs_each_record(name: str) -> None:
    spec = example(name)
    needed = {need.id for need in needs_of(spec.cluster, spec.artifacts)}
    assert {record.id for record in prerequisites(spec.cluster)} == needed


@each_cluster
def test_the_readme_has_the_commands_of_all_records(name: str) -> None:
    cluster = example(name).cluster
    text = readme(cluster)
    for record in prerequisites(cluster):
        assert record.checks or record.id.startswith("network-policy-engine/")
        for command in record.checks:
            assert any(wrapped(command, indent) in text or f"`{command}`" in text for indent in (4, 7)), command


@pytest.mark.share(6)
@each_cluster
def test_each_command_is_right_and_changes_nothing(name: str) -> None:
    head = "HUB=hub\nWORKLOAD=cluster\n" if name.startswith("vega") else ""
    commands = {command for record in prerequisites(example(name).cluster) for command in record.checks}
    program = "\n".join([*head.splitlines(), *sorted(commands)])
    assert program_problems(program) == []
    assert [command for command in sorted(commands) if not only_reads(head + command)] == []


@each_cluster
def test_two_records_of_the_same_thing_agree(name: str) -> None:
    assert list(contradictions(example(name).cluster)) == []


@each_cluster
def test_s1_the_agent_comes_before_the_association_that_needs_it(name: str) -> None:
    text = chapter(readme(example(name).cluster), "IAM roles")
    create = text.index("create-addon") if "create-addon" in text else len(text)
    assert "--addon-name eks-pod-identity-agent" in text and create < text.index("create-pod-identity-association")


@pytest.mark.parametrize(
    ("settings", "role"),
    [
        ({"nodeRole": "KarpenterNodeRole-prod-use1"}, ""),
        ({"nodeRole": "gpu-nodes"}, "aws iam get-role --role-name gpu-nodes"),
        ({"instanceProfile": "gpu-nodes"}, "aws iam get-instance-profile --instance-profile-name gpu-nodes"),
    ],
)
def test_s2_the_controller_may_pass_exactly_the_role_in_use(
    settings: dict[str, str], role: str, variant: Variant
) -> None:
    def change(spec: dict[str, Any]) -> None:
        spec["cloud"]["aws"].pop("nodeRole", None)
        spec["cloud"]["aws"] |= settings

    text = chapter(readme(variant(change)), "IAM roles")
    assert ("put-role-policy" in text) == bool(role)
    if role:
        policy = re.sub(r"\s+", " ", text[text.index("NODE_ROLE=") :])
        assert policy.startswith(f"NODE_ROLE=$({role}")
        (document,) = re.findall(r"--policy-document '(.*?)' ", policy.replace("""'"$NODE_ROLE"'""", "ARN"))
        (statement,) = json.loads(document)["Statement"]
        assert (statement["Action"], statement["Resource"]) == ("iam:PassRole", "ARN")
        assert statement["Condition"] == {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}


def test_s2_the_controller_may_read_exactly_the_queue_in_use(variant: Variant) -> None:
    cluster = variant(lambda spec: spec["cloud"]["aws"].update(interruptionQueue="spot-events"))
    text = chapter(readme(cluster), "IAM roles")
    assert "--queue-name spot-events" in text and '"sqs:ReceiveMessage"' in text


@pytest.mark.parametrize("engine", get_args(ClusterNetwork.model_fields["policy_engine"].annotation))
def test_each_network_policy_engine_is_a_prerequisite(engine: str, variant: Variant) -> None:
    cluster = variant(lambda spec: spec["network"].update(policyEngine=engine))
    (record,) = (item for item in prerequisites(cluster) if item.id == f"network-policy-engine/{engine}")
    assert bool(record.checks) == (engine != "none")
    assert all(command in readme(cluster) for command in record.checks[-1:])


def test_b2_strict_mode_cuts_off_no_namespace_of_the_output() -> None:
    (names,) = re.findall(r"for PLATFORM_NAMESPACE in (.*); do", readme(example("custom-euc1").cluster))
    assert {"cert-manager", "logging"} <= set(names.split()) and "vision" not in names.split()


def test_b2_the_namespace_of_a_pod_in_a_manifest_is_in_the_list(tmp_path: Any) -> None:
    root = write_fleet(tmp_path)
    agent = "apiVersion: v1\nkind: Namespace\nmetadata: {name: agents}\n---\napiVersion: v1\nkind: Pod\n"
    agent += "metadata: {name: a, namespace: agents}\nspec:\n  tolerations: [{operator: Exists}]\n"
    agent += "  containers: [{name: a, image: 'registry.example.com/a:1'}]\n"
    write_manifest(root, "agents.yaml", agent)
    assert unnamed(root) == []
    records = {record.id for record in prerequisites(compiled_spec(root, SPEC).cluster)}
    assert "allow-all/agents" in records


def test_a_controller_that_a_component_installs_is_no_prerequisite(variant: Variant) -> None:
    def without(spec: dict[str, Any]) -> None:
        spec["components"] = {}
        spec["kueue"]["frameworks"] = ["batch/job", JOBSET]

    assert "JobSet" in chapter(readme(variant(without)), "Job controllers")
    brought = example("prod-use1").cluster
    assert JOBSET in brought.frameworks and " Job controllers\n" not in readme(brought)
    assert user("jobset-system/jobset-controller") in controllers(brought)


@each_cluster
def test_t3_all_paths_are_relative_to_one_folder(name: str) -> None:
    text = readme(example(name).cluster)
    folder = root_of(name)
    assert "Run all commands in " in text
    for path in re.findall(r"(?<![\w/.-])((?:out|clusters)/[\w./-]+?)(?=[\s`)]|$)", text.partition("## Before")[2]):
        assert (folder / path).exists(), path


def test_t7_without_a_range_of_services_nothing_is_compared(variant: Variant) -> None:
    def change(spec: dict[str, Any]) -> None:
        spec["network"].pop("serviceCidr", None)
        for tenant in spec["tenants"].values():
            tenant.get("network", {}).pop("apiServer", None)

    assert "serviceCidr" not in chapter(readme(variant(change)), "Network")


def test_t10_the_gateway_of_cilium_needs_the_replacement_of_kube_proxy() -> None:
    records = {record.id for record in prerequisites(example("vega-prod").cluster)}
    assert "cilium-feature/gateway" in records and "eks-addon/kube-proxy" not in records
    assert "eks-addon/kube-proxy" in {record.id for record in prerequisites(example("train-usw2").cluster)}


@each_cluster
def test_u1_the_readme_proves_that_the_region_has_the_instance_types(name: str) -> None:
    cluster = example(name).cluster
    text = chapter(readme(cluster), "Instance types")
    (command,) = re.findall(r"Values=(\S+)", text)
    assert set(command.split(",")) == {instance.type for pool in cluster.pools for instance in pool.instances}


def test_a_role_that_the_spec_does_not_name_has_a_line(tmp_path: Any) -> None:
    root = write_fleet(tmp_path)
    compiled(root)
    (pool,) = (root / "out/dev-use1/karpenter/pools").iterdir()
    text = pool.read_text().split("---")[0]
    node_class = re.sub(rf"name: {pool.stem}\b", "name: own", text).replace("KarpenterNodeRole-dev-use1", "own-nodes")
    write_manifest(root, "own.yaml", node_class[node_class.index("apiVersion") :])
    found = unnamed(root)
    assert {(finding.mark.file, finding.severity.value) for finding in found if finding.mark} == {
        ("specs/dev-use1/manifests/own.yaml", "warning")
    }
    assert any("pass role own-nodes" in finding.message for finding in found)
    lines = (root / "specs/dev-use1/manifests/own.yaml").read_text().splitlines()
    assert {lines[finding.mark.line - 1].strip() for finding in found if finding.mark} == {"role: own-nodes"}


def test_a_patched_role_has_the_line_of_the_patch(tmp_path: Any) -> None:
    root = write_fleet(tmp_path)
    spec = root / SPEC
    target = "  patches:\n    - target: {kind: EC2NodeClass, name: '*'}\n"
    spec.write_text(f"{spec.read_text()}{target}      patch: {{spec: {{role: own-nodes}}}}\n      why: a test\n")
    found = unnamed(root)
    assert found and {finding.mark.line for finding in found if finding.mark} == {
        next(number for number, line in enumerate(spec.read_text().splitlines(), 1) if "own-nodes" in line)
    }


def test_the_role_of_nodes_is_no_role_of_a_service_account(variant: Variant) -> None:
    def change(spec: dict[str, Any]) -> None:
        tenant = next(iter(spec["tenants"].values()))
        namespace = next(iter(tenant["namespaces"].values()))
        role = f"arn:aws:iam::123456789012:role/{spec['cloud']['aws']['nodeRole']}"
        namespace["serviceAccounts"] = {"api": {"role": role}}

    (finding,) = contradictions(variant(change))
    assert (
        finding.id == "PRE002"
        and "pods.eks.amazonaws.com" in finding.message
        and finding.path[-2:] == ("serviceAccounts", "api")
    )


def test_the_command_lists_each_prerequisite_with_its_objects(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root_of("prod-use1"))
    assert main(["prerequisites", "prod-use1", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    rows = {row["id"]: row for row in document["prerequisites"]}
    assert list(rows) == list(dict.fromkeys(record.id for record in prerequisites(example("prod-use1").cluster)))
    assert all(row["objects"] and row["reason"] and row["spec"]["line"] for row in rows.values())
    assert main(["prerequisites", "prod-use1"]) == 0
    text = capsys.readouterr().out
    assert all(f"[{name}]" in text for name in rows)
    assert main(["prerequisites"]) == 2
    assert "infer-euw1, prod-use1, train-usw2" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_spec_with_errors_has_findings_in_place_of_a_list(
    form: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write_fleet(tmp_path)
    spec = root / SPEC
    spec.write_text(spec.read_text().replace("nodeRole:", "nodeRoel:"))
    monkeypatch.chdir(root)
    assert main(["prerequisites", "--format", form]) == 1
    output = capsys.readouterr().out
    assert "nodeRoel" in output and (form == "text" or json.loads(output)["findings"])


def test_c25_1_a_group_cannot_add_shell_commands(variant: Variant) -> None:
    def rename(spec: dict[str, Any]) -> None:
        for tenant in spec["tenants"].values():
            tenant["members"]["groups"] = ["a';id;'|b:c"]

    cluster = variant(rename)
    text = readme(cluster)
    assert "groupsPrefix=PREFIX'" in text
    assert text.count("';id;'") == len(cluster.tenants), "only in the table of tenants"
