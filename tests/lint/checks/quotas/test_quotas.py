"""Checks of quotas: findings in changed objects, and no findings in the examples."""

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import pytest
import yaml

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from tests.conftest import EXAMPLES, compiled_example
from tests.lanes import some
from tests.lint.checks.sound import unsound
from tests.lint.checks.topics import findings_of
from tests.values import changed, walk

KUEUE = "kueue.x-k8s.io/v1beta2"
GPU, EFA = "nvidia.com/gpu", "vpc.amazonaws.com/efa"


@cache
def documents(name: str) -> str:
    """The objects of an example as YAML, so that every test changes its own copy."""
    objects = (manifest.document() for manifest in compiled_example(name).synced)
    text: str = yaml.dump_all(objects, Dumper=yaml.CSafeDumper)
    return text


def copies(name: str) -> list[dict[str, Any]]:
    return list(yaml.load_all(documents(name), Loader=yaml.CSafeLoader))


def manifests(objects: list[dict[str, Any]]) -> Iterator[Manifest]:
    for document in objects:
        metadata = document.get("metadata", {})
        body = {key: value for key, value in document.items() if key not in ("apiVersion", "kind", "metadata")}
        namespace, labels = metadata.get("namespace", ""), metadata.get("labels", {})
        yield Manifest(
            "a.yaml", (), document["apiVersion"], document["kind"], metadata["name"], body, namespace, labels
        )


def reported(objects: list[dict[str, Any]], *, is_complete: bool = True) -> list[tuple[str, str]]:
    found = findings_of("quotas", ObjectSet(manifests(objects), is_complete=is_complete))
    return [(finding.rule.id, f"{finding.manifest} {finding.to_finding().message}") for finding in found]


def ids(objects: list[dict[str, Any]], *, is_complete: bool = True) -> set[str]:
    return {row for row, _ in reported(objects, is_complete=is_complete)}


def named(objects: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    return next(document for document in objects if document["kind"] == kind and document["metadata"]["name"] == name)


def quota(objects: list[dict[str, Any]], queue: str, flavor: str, resource: str) -> dict[str, Any]:
    (group,) = named(objects, "ClusterQueue", queue)["spec"]["resourceGroups"]
    rows = next(row["resources"] for row in group["flavors"] if row["name"] == flavor)
    found: dict[str, Any] = next(row for row in rows if row["name"] == resource)
    return found


def queue(name: str, flavors: dict[str, dict[str, Any]], cohort: str = "", **spec: Any) -> dict[str, Any]:
    """A ClusterQueue: quota rows by flavor and resource; a plain number is a nominal quota."""
    rows = {
        flavor: [
            {"name": resource, **(row if isinstance(row, dict) else {"nominalQuota": row})}
            for resource, row in quotas.items()
        ]
        for flavor, quotas in flavors.items()
    }
    covered = list(next(iter(flavors.values())))
    groups = [{"coveredResources": covered, "flavors": [{"name": key, "resources": row} for key, row in rows.items()]}]
    body = {"resourceGroups": groups, **({"cohortName": cohort} if cohort else {}), **spec}
    return {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": body}


def limited(nominal: Any, borrow: Any = None, lend: Any = None) -> dict[str, Any]:
    row = {"nominalQuota": nominal, "borrowingLimit": borrow, "lendingLimit": lend}
    return {key: value for key, value in row.items() if value is not None}


def flavor(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": {"nodeLabels": labels}}


def pool(name: str, types: list[str], **spec: Any) -> dict[str, Any]:
    requirement = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": types}
    template = {"metadata": {"labels": {"team/pool": name}}, "spec": {"requirements": [requirement] if types else []}}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": template, **spec},
    }


@pytest.mark.share(3)
@pytest.mark.parametrize("name", EXAMPLES)
def test_quotas_of_the_examples_use_all_unshared_gpus_of_their_pools(name: str) -> None:
    """With one node less in any GPU pool the quotas exceed the capacity."""
    for document in copies(name):
        if document["kind"] != "NodePool" or "gpuc.dev/mode" not in document["spec"]["template"]["metadata"]["labels"]:
            continue
        objects = copies(name)
        spec = named(objects, "NodePool", document["metadata"]["name"])["spec"]
        if "replicas" in spec:
            spec["replicas"] -= 1
        else:
            spec["limits"]["nodes"] = str(int(spec["limits"]["nodes"]) - 1)
        assert ids(objects) == {"KRP004"}, document["metadata"]["name"]


def test_a_cohort_above_the_capacity_of_its_pools_is_reported_with_both_numbers() -> None:
    objects = copies("prod-use1")
    quota(objects, "research", "train-h100", GPU)["nominalQuota"] = "160"
    ((_, text),) = reported(objects)
    assert "quotas for ResourceFlavor train-h100 is 208 nvidia.com/gpu" in text
    assert "(ClusterQueue research: 160, ClusterQueue search: 48)" in text
    assert "expected at most 128, the capacity of NodePool train-h100" in text
    assert "spec.resourceGroups[0].flavors[0].resources[3].nominalQuota" in text


def overlay(name: str, capacity: dict[str, str], weight: int, *requirements: tuple[str, str, list[str]]) -> Any:
    rows = [{"key": key, "operator": operator, "values": values} for key, operator, values in requirements]
    spec = {"capacity": capacity, "weight": weight, "requirements": rows}
    return {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": name},
        "spec": spec,
    }


OF_POOL = ("karpenter.sh/nodepool", "In", ["p"])
OF_ANOTHER = ("karpenter.sh/nodepool", "In", ["other"])
OF_ZONE = ("topology.kubernetes.io/zone", "In", ["a"])


@pytest.mark.parametrize(
    ("overlays", "most"),
    [
        ([overlay("o", {GPU: "2"}, 1, OF_POOL)], 2),
        ([overlay("o", {GPU: "32"}, 1, OF_POOL)], 32),
        ([overlay("o", {GPU: "2"}, 1, OF_ANOTHER)], 8),
        ([overlay("o", {GPU: "2"}, 1, OF_POOL), overlay("heavy", {GPU: "4"}, 9, OF_POOL)], 4),
        ([overlay("o", {GPU: "32"}, 1, OF_POOL, OF_ZONE)], 32),
        ([overlay("o", {GPU: "2"}, 1, OF_POOL, OF_ZONE)], 8),
        ([overlay("o", {"example.com/dongle": "3"}, 1, OF_POOL)], 8),
    ],
)
def test_the_heaviest_overlay_sets_the_capacity_of_a_node(overlays: list[Any], most: int) -> None:
    fixed = [flavor("a", **{"team/pool": "p"}), pool("p", ["p5.48xlarge"], limits={"nodes": "1"}), *overlays]
    assert "KRP004" not in ids([*fixed, queue("q", {"a": {GPU: most}})])
    assert "KRP004" in ids([*fixed, queue("q", {"a": {GPU: most + 1}})])


def test_a_flavor_with_a_label_of_all_nodes_of_eks_auto_mode_is_not_checked() -> None:
    small = pool("p", ["m7i.8xlarge"], limits={"nodes": "1"})
    small["spec"]["template"]["metadata"]["labels"]["eks.amazonaws.com/compute-type"] = "auto"
    auto = flavor("a", **{"eks.amazonaws.com/compute-type": "auto"})
    assert reported([small, auto, queue("q", {"a": {"cpu": 1000}})]) == [], "a label of all nodes of EKS Auto Mode"


def test_quota_for_other_clusters_is_not_compared_with_these_pools() -> None:
    check = {"apiVersion": KUEUE, "kind": "AdmissionCheck", "metadata": {"name": "far"}}
    check["spec"] = {"controllerName": "kueue.x-k8s.io/multikueue"}
    far = {"admissionChecksStrategy": {"admissionChecks": [{"name": "far"}]}}
    objects = [flavor("a", **{"team/pool": "p"}), pool("p", ["m7i.8xlarge"], limits={"nodes": "1"}), check]
    assert reported([*objects, queue("q", {"a": {"cpu": 1000}}, **far)]) == []


def test_cpu_for_8_of_64_gpus_is_reported() -> None:
    objects = copies("prod-use1")
    for name in ("research", "search"):
        row = quota(objects, name, "batch-a100", "cpu")
        row["nominalQuota"] = "48"
    found = dict(reported(objects))
    assert set(found) == {"QTA004", "QTA014"}, "the namespaces may request more than that"
    assert "of ResourceFlavor batch-a100, but its 96 cpu suffices for 8 nvidia.com/gpu" in found["QTA004"]


def test_borrowing_without_a_lender_is_reported() -> None:
    objects = copies("prod-use1")
    quota(objects, "search", "train-h100", GPU)["lendingLimit"] = "0"
    found = dict(reported(objects))
    assert set(found) == {"KUE008", "QTA014"}, (
        "the namespaces may request more than their queues can provide without the loan"
    )
    text = found["KUE008"]
    assert "ClusterQueue research" in text
    assert "borrows 48 nvidia.com/gpu of ResourceFlavor train-h100, but the other queues lend at most 0" in text


def cohort(name: str, parent: str = "", quotas: dict[str, Any] | None = None) -> dict[str, Any]:
    spec: dict[str, Any] = {"parentName": parent} if parent else {}
    if quotas:
        spec["resourceGroups"] = queue("x", {"f": quotas})["spec"]["resourceGroups"]
    return {"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": name}, "spec": spec}


@pytest.mark.slow
def test_a_cycle_of_cohorts_and_a_long_chain_of_cohorts_are_accepted() -> None:
    circle = [cohort("a", "b"), cohort("b", "a"), queue("q", {"f": {"cpu": limited(1, borrow=1)}}, "a")]
    assert reported(circle) == []
    chain = [cohort(f"c{number}", f"c{number + 1}") for number in range(5000)]
    hungry = queue("q", {"f": {"cpu": limited(1, borrow=1)}}, "c0")
    assert ids([*chain, hungry, queue("b", {"f": {"cpu": 1}}, "c5000")]) == set()


def hard(namespace: str, **rows: Any) -> dict[str, Any]:
    metadata = {"name": "q", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": rows}}


def local(namespace: str, name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": name}}


def test_a_resource_quota_without_gpus_is_an_error() -> None:
    objects = copies("train-usw2")
    quotas = [document for document in objects if document["kind"] == "ResourceQuota"]
    rows = next(document for document in quotas if document["metadata"]["namespace"] == "safety-train")
    rows["spec"]["hard"]["requests.nvidia.com/gpu"] = "0"
    found = dict(reported(objects))
    assert set(found) == {"QTA012", "QTA013"}
    assert "0 nvidia.com/gpu, but ClusterQueue safety of namespace safety-train has only GPU quota" in found["QTA013"]


def quota_of(objects: list[dict[str, Any]], namespace: str) -> dict[str, Any]:
    """The limits of the ResourceQuota of a namespace."""
    quotas = (document for document in objects if document["kind"] == "ResourceQuota")
    hard: dict[str, Any] = next(row for row in quotas if row["metadata"]["namespace"] == namespace)["spec"]["hard"]
    return hard


def test_resource_quotas_for_pools_outside_of_kueue_fit_the_pools() -> None:
    """C4: the sum of the ResourceQuotas for a pool that Kueue does not count is at most the capacity of its nodes."""
    objects = copies("prod-use1")
    quota_of(objects, "embeddings")["requests.nvidia.com/gpu.shared"] = "97"
    ((identity, text),) = reported(objects)
    assert (identity, "pods outside of Kueue is 97 nvidia.com/gpu.shared (namespace embeddings: 97)" in text) == (
        "KRP004",
        True,
    )
    assert "expected at most 96, the capacity of NodePool embed-l40s" in text
    assert reported(objects, is_complete=False) == []
    objects = copies("prod-use1")
    quota_of(objects, "search-train")["requests.nvidia.com/mig-2g.20gb"] = "1"
    ((identity, text),) = reported(objects)
    assert (
        identity,
        "33 nvidia.com/mig-2g.20gb (namespace search-train: 1, namespace search-serving: 32)" in text,
    ) == ("KRP004", True)
    named(objects, "NodePool", "serve-a100")["spec"]["template"]["metadata"]["labels"].pop("gpuc.dev/pool")
    assert reported(objects) == [], "other clusters may allow more than their nodes have"


def test_a_resource_that_is_counted_twice_is_reported() -> None:
    """C4: a ClusterQueue and pods outside of Kueue draw on the same number of the ResourceQuota."""
    objects = copies("prod-use1")
    quota_of(objects, "research-lab")["requests.nvidia.com/gpu.shared"] = "100"
    quota_of(objects, "embeddings")["requests.nvidia.com/gpu.shared"] = "92"
    ((identity, text),) = reported(objects)
    assert identity == "QTA022"
    assert "96 nvidia.com/gpu.shared for ClusterQueue research" in text
    assert "outside of Kueue on NodePool embed-l40s" in text
    assert reported(objects, is_complete=False) == []


def test_a_pool_outside_of_kueue_that_is_removed_has_no_capacity_to_compare() -> None:
    objects = copies("prod-use1")
    named(objects, "NodePool", "embed-l40s")["spec"]["limits"]["nodes"] = "0"
    assert reported(objects) == []


STRANGE: list[Any] = [None, True, 7, -1.5, "x", [], {}, [None], [[]], {"a": None}, [{"name": {}}], {"key": [1]}]


@pytest.mark.parametrize("is_complete", [True, False])
def test_any_value_is_accepted_at_any_path(is_complete: bool) -> None:
    check = {
        "apiVersion": KUEUE,
        "kind": "AdmissionCheck",
        "metadata": {"name": "far"},
        "spec": {"controllerName": "x"},
    }
    checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": "far"}]}, "fairSharing": {"weight": 1}}
    selector = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["n"]}]}
    quotas = {"cpu": limited("500m", "1e3", 0), GPU: 8, EFA: 4}
    tree = [
        flavor("a", **{"team/pool": "p"}), pool("p", ["p5.48xlarge"], limits={"nodes": "1", "cpu": 3}, replicas=1),
        overlay("o", {GPU: "4"}, 1, OF_POOL, OF_ZONE), check, cohort("c", "d", {"cpu": 1}), cohort("d"),
        queue("q", {"a": quotas}, "c", namespaceSelector=selector, **checks), queue("r", {"a": quotas}, "c"),
        local("n", "q"), hard("n", cpu=1, pods=0),
    ]  # fmt: skip
    places = [path for number, row in enumerate(tree) for path, _ in walk(row["spec"], (number, "spec"))]
    for path, strange in some(list(product(places, STRANGE)), 23):
        tree_of = list(manifests(changed(tree, path, strange)))
        assert unsound(findings_of("quotas", ObjectSet(tree_of, is_complete=is_complete)), tree_of) == []


def test_no_finding_in_a_thousand_pools_and_flavors() -> None:
    objects = [pool(f"p{number}", ["p5.48xlarge"], limits={"nodes": "1"}) for number in range(1000)]
    objects += [flavor(f"f{number}", **{"team/pool": f"p{number}"}) for number in range(1000)]
    objects += [queue(f"q{number}", {f"f{number}": {"cpu": 8, GPU: 1}}) for number in range(1000)]
    tree = ObjectSet(manifests(objects), is_complete=True)
    assert list(findings_of("quotas", tree)) == []


@pytest.mark.slow
def test_no_finding_in_two_thousand_queues() -> None:
    flavors = {f"f{number}": {"cpu": limited(10, 1, 1), "memory": limited("1Ti", "1Gi", "1Gi")} for number in range(5)}
    objects = [queue(f"q{number}", flavors, f"c{number % 50}") for number in range(2000)]
    objects += [cohort(f"c{number}", "top") for number in range(50)]
    tree = ObjectSet(manifests(objects), is_complete=True)
    assert list(findings_of("quotas", tree)) == []
