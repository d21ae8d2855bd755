"""An error in files of users is a statement that the API server, a controller or the admission contradicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuc.lint.linter import Linter

LOCAL_QUEUE = """---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: default}
spec: {clusterQueue: NAME}
"""
CLUSTER_QUEUE = """---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: research}
spec: {namespaceSelector: {}}
"""
JOB = """---
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: default, labels: {kueue.x-k8s.io/queue-name: NAME}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}
"""
NODE_POOL = """---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: NAME}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}]
"""
NODE_CLASS = """---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: training}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{id: subnet-12345678}]
  securityGroupSelectorTerms: [{id: sg-12345678}]
"""
CONSTRAINT = """---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: K8sRequiredLabels
metadata: {name: NAME}
spec: {match: MATCH, parameters: {labels: [{key: owner}]}}
"""
TEMPLATE = """---
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: k8srequiredlabels}
spec:
  crd:
    spec:
      names: {kind: K8sRequiredLabels}
      validation: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  targets: [{target: admission.k8s.gatekeeper.sh, rego: package k8srequiredlabels}]
"""


def linted(folder: Path, text: str) -> list[tuple[str, str]]:
    """Returns the ids and severities of all findings except infos."""
    (folder / "a.yaml").write_text(text, encoding="utf-8")
    linter = Linter("1.35")
    linter.lint(str(folder))
    found = [(finding.id, finding.severity.value) for finding in linter.findings]
    return [row for row in found if row[1] != "info" and row[0] not in ("REF060", "REF061")]


@pytest.mark.parametrize(
    ("rule", "text", "misspelt", "other"),
    [
        ("REF001", CLUSTER_QUEUE + LOCAL_QUEUE, "reserach", "serving"),
        ("REF002", CLUSTER_QUEUE + LOCAL_QUEUE.replace("NAME", "research").replace("team", "research") + JOB,
         "reserach", "user-queue"),
        ("REF004", NODE_CLASS + NODE_POOL, "trainning", "default"),
    ],
)  # fmt: skip
def test_lint09_an_object_that_other_files_may_have_is_no_error(
    tmp_path: Path, rule: str, text: str, misspelt: str, other: str
) -> None:
    assert linted(tmp_path, text.replace("NAME", misspelt)) == [(rule, "error")]
    assert linted(tmp_path, text.replace("NAME", other)) == [(rule, "warning")]


def constraint(name: str, match: str) -> str:
    return CONSTRAINT.replace("NAME", name).replace("MATCH", match)


def test_lint09_decisions_about_constraints_are_no_errors(tmp_path: Path) -> None:
    pods = "{kinds: [{apiGroups: [''], kinds: [Pod]}]}"
    namespaces = "{kinds: [{apiGroups: [''], kinds: [Namespace]}]}"
    assert linted(tmp_path, TEMPLATE + constraint("pods", pods)) == [("PLC001", "warning")]
    assert linted(tmp_path, TEMPLATE + constraint("namespaces", namespaces)) == [], "in no namespace"
    two = (
        TEMPLATE
        + constraint("namespaces", namespaces)
        + constraint("maps", "{kinds: [{apiGroups: [''], kinds: [ConfigMap]}], namespaces: [prod]}")
    )
    assert linted(tmp_path, two) == [], "two constraints of one template for two kinds"
    config = """---
apiVersion: config.gatekeeper.sh/v1alpha1
kind: Config
metadata: {name: config, namespace: gatekeeper-system}
spec: {match: [{excludedNamespaces: [kube-*], processes: ["*"]}]}
"""
    assert linted(tmp_path, TEMPLATE + config + constraint("pods", pods)) == []
    assert linted(tmp_path, TEMPLATE + constraint("all", "{namespaces: [prod]}")) == [("PLC002", "warning")]


def test_lint10_the_api_server_completes_a_role_reference(tmp_path: Path) -> None:
    binding = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: readers}
roleRef: {API kind: ClusterRole, name: view}
subjects: [{kind: Group, name: readers}]
"""
    for group in ("", 'apiGroup: "",', "apiGroup: rbac.authorization.k8s.io,"):
        assert linted(tmp_path, binding.replace("API", group)) == []
    assert linted(tmp_path, binding.replace("API", "apiGroup: rbac,")) == [("SCH002", "error")]


@pytest.mark.parametrize("name", ["$NAMESPACE", "$(NS)", "<NAMESPACE>", "__NAME__", "_", "FILLED BY THE OPERATOR"])
def test_lint23_a_name_that_a_tool_replaces_is_no_error(tmp_path: Path, name: str) -> None:
    text = f'apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: "{name}"}}\n'
    assert linted(tmp_path, text) == []
    assert linted(tmp_path, text.replace(name, "Upper")) == [("SCH006", "error")]


def test_lint23_the_api_server_reads_null_in_labels_as_an_empty_value(tmp_path: Path) -> None:
    metadata = "{name: a, namespace: b, labels: {x: null}, annotations: {y: null}}"
    assert linted(tmp_path, f"apiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\n") == []
    long = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {'a' * 200}, namespace: b}}\n"
    assert linted(tmp_path, long + "spec: {containers: [{name: a, image: b}]}\n") == []
