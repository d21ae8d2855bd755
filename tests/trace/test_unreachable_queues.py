"""Unreachable queues, flavors and workloads: every test breaks an object of an example and expects a finding there."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.diagnostics.place import place as place_of
from gpuc.lint.checks.scheduling.unreachable_queues import findings
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from tests.conftest import EXAMPLES
from tests.conftest import compiled_example as example
from tests.lanes import some
from tests.lint.checks.sound import unsound
from tests.values import changed, paths

Change = Callable[[Any], None]
STRANGE = (None, True, 7, -1, 2.5, "", "x", "9" * 400, "1e999999", [], {}, [[]], [None], {"": None}, [{"key": []}])


def all_objects(name: str) -> list[Manifest]:
    spec = example(name)
    return [*spec.synced, *spec.workloads]


def broken(name: str, kind: str, object_name: str, change: Change) -> list[Manifest]:
    """The objects of an example, one of them changed."""
    found = []
    for manifest in all_objects(name):
        if (manifest.kind, manifest.name) == (kind, object_name):
            body = deepcopy(manifest.body)
            change(body)
            manifest = replace(manifest, body=body)  # noqa: PLW2901
        found.append(manifest)
    return found


def reported(manifests: list[Manifest], *, is_complete: bool = True) -> list[ObjectFinding]:
    return list(findings(ObjectSet(manifests, is_complete=is_complete)))


def ids(found: list[ObjectFinding]) -> set[str]:
    return {finding.rule.id for finding in found}


@pytest.mark.parametrize("is_complete", [True, False])
@pytest.mark.parametrize("name", EXAMPLES)
def test_what_gpuc_emits_lets_all_of_its_own_work_through(name: str, is_complete: bool) -> None:
    manifests = all_objects(name)
    assert any(manifest.kind == "Job" for manifest in manifests)
    assert reported(manifests, is_complete=is_complete) == []


def without_quota(body: Any) -> None:
    for row in body["spec"]["resourceGroups"][0]["flavors"][2]["resources"]:
        row["nominalQuota"] = "0"


def tight(body: Any) -> None:
    body["spec"]["limits"][0]["max"] = {"memory": "1Ki"}


def for_arm(body: Any) -> None:
    wanted = body["spec"]["template"]["spec"]["requirements"]
    next(requirement for requirement in wanted if requirement["key"] == "kubernetes.io/arch")["values"] = ["arm64"]


def for_t4(body: Any) -> None:
    body["spec"]["nodeLabels"]["karpenter.k8s.aws/instance-gpu-name"] = "t4"


@pytest.mark.parametrize(
    ("kind", "name", "change", "rule", "place", "words"),
    [
        ("ClusterQueue", "research", without_quota, "SCD001", "research: spec.resourceGroups[0].flavors[2]", ""),
        ("NodeOverlay", "lab-h100-p5-48xlarge", lambda body: body["spec"]["capacity"].pop("nvidia.com/mig-3g.40gb"),
         "SCD002", "research: spec.", "nvidia.com/mig-3g.40gb"),
        ("NodePool", "train-h100", lambda body: body["spec"]["limits"].update(cpu="100"),
         "SCD003", "train-h100: spec.limits", ""),
        ("NodePool", "train-h100", for_arm, "SCD003", "train-h100: spec.template", ""),
        ("ResourceFlavor", "train-h100", for_t4, "REF020",
         'train-h100: spec.nodeLabels["karpenter.k8s.aws/instance-gpu-name"]',
         "no instance type that node pool train-h100 allows has"),
    ],
)  # fmt: skip
def test_a_break_has_one_finding_at_its_place(
    kind: str, name: str, change: Change, rule: str, place: str, words: str
) -> None:
    found = reported(broken("prod-use1", kind, name, change))
    (finding,) = [finding for finding in found if finding.rule.id == rule]
    assert f"{finding.manifest.name}: {place_of(finding.path)}".startswith(place)
    assert words in finding.message
    assert (rule == "REF020") <= ("SCD003" not in ids(found)), "the pool itself can start nodes"
    assert (rule == "SCD002") <= ("SCD006" in ids(found)), "the template that asks for such a slice never starts"


def test_lint_defect_19_a_flavor_of_files_whose_labels_exclude_all_types_of_its_pool() -> None:
    found = reported(broken("prod-use1", "ResourceFlavor", "train-h100", for_t4), is_complete=False)
    assert "REF020" in ids(found) and "SCD003" not in ids(found)


def test_a_topology_whose_nodes_nothing_makes() -> None:
    objects = broken("train-usw2", "NodePool", "core-h200", lambda body: body["spec"].pop("replicas"))
    found = reported(objects)
    assert {(finding.rule.id, finding.manifest.name) for finding in found} == {
        ("KUE005", "core-h200"), ("SCD006", "core-h200"),
    }  # fmt: skip
    assert reported(objects, is_complete=False) != found


def test_a_namespace_that_takes_no_pod() -> None:
    found = reported(broken("prod-use1", "LimitRange", "gpuc", tight))
    assert {finding.manifest.kind for finding in found if finding.rule.id == "SCD005"} == {"LimitRange"}


def too_many_gpus(body: Any) -> None:
    for part in ("requests", "limits"):
        body["spec"]["template"]["spec"]["containers"][0]["resources"][part]["nvidia.com/gpu"] = "9"


def on_another_pool(body: Any) -> None:
    body["spec"]["template"]["spec"]["nodeSelector"] = {"gpuc.dev/pool": "lab-h100"}


@pytest.mark.parametrize(("is_complete", "rule"), [(True, "SCD006"), (False, "SCD007")])
@pytest.mark.parametrize(("change", "words"), [(too_many_gpus, "node"), (on_another_pool, "quota")])
def test_work_that_never_starts(change: Change, words: str, is_complete: bool, rule: str) -> None:
    (finding,) = reported(broken("prod-use1", "Job", "train-h100", change), is_complete=is_complete)
    assert (finding.rule.id, finding.manifest.kind) == (rule, "Job")
    assert finding.message.startswith(words)


def test_files_without_queues_are_ignored() -> None:
    assert reported([manifest for manifest in all_objects("prod-use1") if manifest.kind != "ClusterQueue"]) == []


KINDS = (
    "ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "Topology", "NodePool", "NodeOverlay", "EC2NodeClass",
    "LimitRange", "ResourceQuota", "Job", "DaemonSet",
)  # fmt: skip


@pytest.mark.share(24)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["infer-euw1", "train-usw2"])
def test_strange_values_at_any_place_break_nothing(name: str, kind: str) -> None:
    first = next((manifest for manifest in all_objects(name) if manifest.kind == kind), None)
    if first is None:
        pytest.skip(f"{name} has no {kind}")
    ends = list(paths(first.body))
    for number, path in some(list(enumerate(ends[:: max(1, len(ends) // 25)])), 12):
        broken_one = replace(first, body=changed(first.body, path, STRANGE[number % len(STRANGE)]))
        tree = [broken_one if manifest is first else manifest for manifest in all_objects(name)]
        for is_complete in (True, False):
            assert unsound(reported(tree, is_complete=is_complete), tree) == []


@pytest.mark.slow
def test_long_chains_and_circles_of_cohorts_end() -> None:
    api = "kueue.x-k8s.io/v1beta2"
    chain = [
        Manifest("a.yaml", (), api, "Cohort", f"c{number}", {"spec": {"parentName": f"c{(number + 1) % 3000}"}})
        for number in range(3000)
    ]
    changed = broken("prod-use1", "Cohort", "company", lambda body: body.update(spec={"parentName": "c0"}))
    assert reported([*changed, *chain]) == []
    (limits, *_) = (manifest for manifest in changed if manifest.kind == "LimitRange")
    tighter = [*changed, replace(limits, body={"spec": {"limits": [{"type": "Container", "max": {"memory": "1Ki"}}]}})]
    assert "SCD005" in ids(reported([*tighter, *chain])), "what else is wrong is still found"


def test_a_job_that_starts_with_fewer_pods_is_checked_with_fewer_pods() -> None:
    wide = {"parallelism": 40, "completions": 40}
    manifests = broken("prod-use1", "Job", "train-h100", lambda body: body["spec"].update(wide))
    assert ids(reported(manifests)) == {"SCD006"}
    least = {"kueue.x-k8s.io/job-min-parallelism": "4"}
    fewer = [replace(manifest, annotations=least) if manifest.kind == "Job" else manifest for manifest in manifests]
    assert reported(fewer) == []
