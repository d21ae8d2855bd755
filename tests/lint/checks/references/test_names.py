"""Every row of the table of names: it holds where its target is, and is told where the target has another name."""

from __future__ import annotations

from typing import Any

import pytest

from gpuc.diagnostics.finding import Severity
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.objects.paths import EVERY_ITEM, pattern
from gpuc.objects.symbol_table import CLUSTER_SCOPED, NAMED_BY, Kind, kind_of
from gpuc.verify.references.names import REFERENCES
from gpuc.verify.references.reference import ANY, NOT_IN_THESE_FILES, POD, SAID, Kept, Reference, kept
from tests.lint.checks.references.trees import findings, ids, told

MEANT = {
    "spec.parameters": "kueue.x-k8s.io/ProvisioningRequestConfig",
    "spec.template.spec.nodeClassRef": "karpenter.k8s.aws/EC2NodeClass",
    "roleRef": "rbac.authorization.k8s.io/ClusterRole",
    "spec.scaleTargetRef": "apps/Deployment",
    "spec.targetRef": "apps/StatefulSet",
    "spec.runtimeRef": "trainer.kubeflow.org/ClusterTrainingRuntime",
}
"""A kind that each reference which says its kind may mean."""
NAME, NEAR, FAR = "exemplar", "exempler", "something-else"
ROWS = pytest.mark.parametrize("row", REFERENCES, ids=lambda row: f"{row.source} {row.path} {row.target}")


def target_of(row: Reference) -> Kind:
    return kind_of(MEANT[row.path] if row.target == SAID else row.target)


def written(steps: tuple[str, ...], leaf: Any, beside: dict[str, Any]) -> Any:
    """A document with a value at a pattern, and keys beside the innermost one."""
    if not steps:
        return leaf
    step, rest = steps[0], steps[1:]
    inner = written(rest, leaf, beside)
    if step == EVERY_ITEM:
        return [inner]
    innermost = not [each for each in rest if each != EVERY_ITEM]
    return {**(beside if innermost else {}), step: inner}


def source_of(row: Reference, name: str) -> Manifest:
    """An object that refers by a row to a name."""
    leaf: Any = name
    if row.target == SAID:
        group, kind = target_of(row)
        version = {"apiVersion": f"{group}/v1"} if "argetRef" in row.path else {"apiGroup": group}
        leaf = {**version, "kind": kind, "name": name}
    beside = {row.when[0]: row.when[1]} if row.when[0] else {}
    beside |= {row.namespace: "research"} if row.namespace == "namespace" else {}
    body = written(pattern(row.path), leaf, beside)
    labels = body.pop("metadata", {}).get("labels", {}) if isinstance(body, dict) else {}
    group, kind = kind_of({ANY: "batch/Job", POD: "Pod"}.get(row.source, row.source))
    if row.path == "kind":
        kind, body = name, {}
    namespace = "" if kind_of(f"{group}/{kind}") in CLUSTER_SCOPED else "research"
    if row.source == POD and "metadata" in row.path:
        kind, group, body, labels = "Job", "batch", {"spec": {"template": {"metadata": {"labels": labels}}}}, {}
    return Manifest("a.yaml", (), f"{group}/v1" if group else "v1", kind, "source", body, namespace, labels)


def offer(kind: Kind, name: str) -> Manifest:
    """An object that a row may mean."""
    group, word = kind
    body: dict[str, Any] = {}
    if where := NAMED_BY.get(f"{group}/{word}"):
        body, name = written(pattern(where), name, {}), "named-otherwise"
    namespace = "" if kind in CLUSTER_SCOPED else "research"
    return Manifest("b.yaml", (), f"{group}/v1" if group else "v1", word, name, body, namespace)


def of_row(row: Reference, name: str, *others: str, whole: bool) -> list[Any]:
    """ObjectFindings of one reference to a name, with the fault of the row or that of files."""
    manifests = [source_of(row, name), *(offer(target_of(row), other) for other in others)]
    found = findings(ObjectSet(manifests, is_complete=whole))
    return [each for each in found if each.rule in (row.rule, NOT_IN_THESE_FILES) and each.manifest.name == "source"]


@ROWS
def test_a_name_that_is_there_holds(row: Reference) -> None:
    for whole in (True, False):
        assert [each for each in of_row(row, NAME, NAME, whole=whole) if NAME in each.message] == []


@ROWS
def test_a_misspelt_name_is_told_with_its_fix(row: Reference) -> None:
    for whole in (True, False):
        (finding,) = [each for each in of_row(row, NEAR, NAME, whole=whole) if NEAR in each.message]
        assert finding.fix == f"write {NAME}"
        sure = whole or kept(target_of(row)) is Kept.TOGETHER
        assert finding.rule is (row.rule if sure else NOT_IN_THESE_FILES)


@ROWS
def test_another_name_is_told_as_sure_as_it_is(row: Reference) -> None:
    (finding,) = [each for each in of_row(row, FAR, NAME, whole=True) if FAR in each.message]
    assert finding.rule is row.rule
    assert finding.fix == ""
    part = [each for each in of_row(row, FAR, NAME, whole=False) if FAR in each.message]
    wanted = {Kept.TOGETHER: [row.rule], Kept.APART: [NOT_IN_THESE_FILES], Kept.ALL_OVER: []}
    assert [each.rule for each in part] == wanted[kept(target_of(row))]


@ROWS
def test_files_without_any_of_the_kind_say_nothing(row: Reference) -> None:
    assert [each for each in of_row(row, FAR, whole=False) if FAR in each.message] == []
    assert [each for each in of_row(row, FAR, whole=True) if FAR in each.message] != []


def test_every_fault_of_a_name_is_an_error() -> None:
    assert {row.rule.severity for row in REFERENCES} == {Severity.ERROR}


def test_work_looks_for_its_queue_in_its_own_namespace() -> None:
    queues = """
    apiVersion: kueue.x-k8s.io/v1beta2
    kind: LocalQueue
    metadata: {name: training, namespace: research}
    spec: {clusterQueue: research}
    ---
    apiVersion: kueue.x-k8s.io/v1beta2
    kind: LocalQueue
    metadata: {name: serving, namespace: search}
    spec: {clusterQueue: research}
    """
    work = """
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata:
      name: work
      namespace: NAMESPACE
      labels: {kueue.x-k8s.io/queue-name: training}
    spec: {}
    """
    assert ids(queues, work.replace("NAMESPACE", "research")) == []
    assert told(queues, work.replace("NAMESPACE", "search")) == [("REF002", "JobSet search/work", "")]
    assert ids(queues, work.replace("NAMESPACE", "elsewhere")) == ["REF090"]
    assert ids(queues, work.replace("      namespace: NAMESPACE\n", "")) == [], "the file does not say where"


def test_built_in_roles_and_accounts_exist() -> None:
    binding = """
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRoleBinding
    metadata: {name: a}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ROLE}
    subjects:
      - {kind: ServiceAccount, name: default, namespace: default}
      - {kind: Group, name: nobody-knows}
    """
    for role in ("view", "cluster-admin", "system:node-proxier"):
        assert ids(binding.replace("ROLE", role), whole=True) == []
    assert ids(binding.replace("ROLE", "viewer"), whole=True) == ["REF005"]


def test_what_a_template_engine_fills_in_is_no_name() -> None:
    text = """
    apiVersion: kueue.x-k8s.io/v1beta2
    kind: LocalQueue
    metadata: {name: training, namespace: research}
    spec: {clusterQueue: "${QUEUE}"}
    """
    assert ids(text, whole=True) == ["REF040"]


def test_optional_sources_may_be_missing_and_makers_make_theirs() -> None:
    pod = """
    apiVersion: v1
    kind: Pod
    metadata: {name: work, namespace: default}
    spec:
      containers:
        - name: work
          envFrom:
            - configMapRef: {name: settings, optional: true}
            - secretRef: {name: token}
    """
    maker = """
    apiVersion: external-secrets.io/v1
    kind: ExternalSecret
    metadata: {name: token-of-the-vault, namespace: default}
    spec: {target: {name: token}}
    """
    assert ids(pod, whole=True) == ["REF006"]
    assert ids(pod, maker, whole=True) == []
