"""Quotas that are read from ClusterQueue and Cohort objects."""

from msgspec.structs import replace

from gpuc.cluster.queue import from_objects, inactive_reason
from gpuc.kubernetes.quota import Quota
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.rules.queues.borrowing import shared_nothing

API = "kueue.x-k8s.io/v1beta2"


def queue(rows: list[object], **spec: object) -> Manifest:
    groups = [{"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "f", "resources": rows}]}]
    return Manifest("q.yaml", (), API, "ClusterQueue", "a", {"spec": {"resourceGroups": groups, **spec}})


def test_quotas_are_read_with_their_limits_and_places() -> None:
    rows: list[object] = [
        {"name": "cpu", "nominalQuota": "1500m", "borrowingLimit": 0},
        {"name": "nvidia.com/gpu", "nominalQuota": 8, "lendingLimit": "4"},
        {"name": "memory", "nominalQuota": "much"},
        "odd",
    ]
    (node,) = from_objects(ObjectSet([queue(rows)], is_complete=True)).members
    assert node.quotas == {("f", "cpu"): Quota(1500, 0), ("f", "nvidia.com/gpu"): Quota(8, None, 4)}
    assert node.path(("f", "nvidia.com/gpu")) == ("spec", "resourceGroups", 0, "flavors", 0, "resources", 1)
    assert node.path(("f", "pods")) == ()


def test_parents_are_read_by_both_versions_names() -> None:
    above = Manifest("c.yaml", (), API, "Cohort", "left", {"spec": {"parent": "root"}})
    objects = ObjectSet([queue([], cohort="left"), above], is_complete=True)
    nodes = {node.name: node for node in from_objects(objects).members}
    assert [node.name for node in nodes["a"].to_root] == ["a", "left", "root"]
    assert nodes["root"].manifest is None


def test_a_missing_admission_check_makes_a_queue_inactive() -> None:
    """As kueue v0.19.2 pkg/cache/scheduler/clusterqueue.go, inactiveReason: AdmissionCheckNotFound."""
    flavor = Manifest("f.yaml", (), API, "ResourceFlavor", "f", {"spec": {}})
    strategy = {"admissionChecks": [{"name": "licence"}]}
    objects = ObjectSet([queue([], admissionChecksStrategy=strategy), flavor], is_complete=True)
    reason = "AdmissionCheck licence does not exist", ("spec", "admissionChecksStrategy", "admissionChecks", 0)
    assert inactive_reason(objects, from_objects(objects).by_name["a"]) == reason
    check = Manifest("c.yaml", (), API, "AdmissionCheck", "licence", {"spec": {}})
    known = objects.with_objects([check])
    assert inactive_reason(known, from_objects(known).by_name["a"]) is None


def test_a_finding_about_a_cohort_is_at_the_field_that_names_it() -> None:
    """API version v1beta1 has the field cohort, and v1beta2 has cohortName."""
    rows: list[object] = [{"name": "cpu", "nominalQuota": 1, "lendingLimit": 0}]
    for name in ("cohort", "cohortName"):
        members = [replace(queue(rows, **{name: "left"}), name=member) for member in "ab"]
        (tree,) = from_objects(ObjectSet(members, is_complete=True)).trees
        found = shared_nothing(tree)
        assert found and found.path == ("spec", name)
