"""What is tried on tenants' fences: expectations that follow the model, and objects that say what they claim."""

from __future__ import annotations

from dataclasses import replace

from gpuc.model import Cluster
from gpuc.policy.library import policies
from gpuc.rehearse.client import ApiError, Client
from gpuc.rehearse.desk import Desk, permitted
from gpuc.rehearse.examples import changes, examples
from gpuc.rehearse.scenes import Scene, fences
from gpuc.rehearse.scenes import policies as policy_scenes
from gpuc.rehearse.verdict import SILENCE, judged, refuser
from gpuc.rehearse.violations import violations


def scene(scenes: list[Scene], *parts: str) -> Scene:
    (found,) = (each for each in scenes if all(part in each.name for part in parts))
    return found


def test_every_policy_is_broken_for_every_tenant_that_it_can_be_broken_for(prod: Cluster) -> None:
    tried = {
        attempt.policy
        for tenant in prod.tenants
        for space in tenant.namespaces
        for attempt in violations(Desk(prod, tenant, space))
    }
    assert tried == policies().keys() - {"gpu-requests"}, "whose question the LimitRange answers"


def test_expectations_follow_stage_pod_security_and_quota(prod: Cluster) -> None:
    scenes = list(policy_scenes.scenes(prod))
    denied = scene(scenes, "research-train host-access: The process namespace of the host").expected
    assert (denied.verdict, denied.by, denied.words) == ("refused", "policy", "host-access")
    baseline = scene(scenes, "research-lab host-access: The process namespace of the host").expected
    assert (baseline.by, baseline.words) == ("API server", 'violates PodSecurity "baseline')
    warned = scene(scenes, "research-train cost-label").expected
    assert (warned.verdict, warned.words) == ("admitted", "cost-label-research")
    unmetered = scene(scenes, "research-train gpu-resources: 1 nvidia.com/mig-2g.20gb").expected
    assert (unmetered.verdict, unmetered.by) == ("refused", "quota")
    assert scene(scenes, "kube-system host-access").expected.words == SILENCE


def test_a_quota_that_is_off_by_one_is_another_expectation(prod: Cluster) -> None:
    research = next(tenant for tenant in prod.tenants if tenant.name == "research")
    less = replace(research, ceiling=research.ceiling | {"nvidia.com/gpu": research.ceiling["nvidia.com/gpu"] - 1})
    fewer = replace(prod, tenants=tuple(less if each is research else each for each in prod.tenants))
    ours, theirs = (
        scene(list(fences.scenes(each)), "research-train", "nvidia.com/gpu and one") for each in (prod, fewer)
    )
    assert ours.expected.words == "requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=196, limited"
    assert theirs.expected.words == "requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=195, limited"


def test_a_member_who_only_reads_is_expected_to_create_nothing(prod: Cluster) -> None:
    search = next(tenant for tenant in prod.tenants if tenant.name == "search")
    reading = replace(
        search, spec=search.spec.model_copy(update={"members": search.spec.members.model_copy(update={"role": "view"})})
    )
    scenes = list(
        fences.scenes(replace(prod, tenants=tuple(reading if each is search else each for each in prod.tenants)))
    )
    (job,) = (each for each in scenes if each.name.endswith("search-train: create a Job in queue search"))
    assert (job.expected.verdict, job.expected.words) == ("refused", 'cannot create resource "jobs"')
    assert scene(scenes, "member of search (view) in search-train: list its pods").expected.verdict == "admitted"


def test_a_third_of_the_scenes_of_fences_and_policies_are_refusals(prod: Cluster) -> None:
    for family in (policy_scenes, fences):
        scenes = list(family.scenes(prod))
        assert sum(each.is_refusal for each in scenes) > len(scenes) / 3
        assert len({each.name for each in scenes}) == len(scenes)


def test_permitted_pods_of_a_pool_tolerate_exactly_its_taints(prod: Cluster) -> None:
    tenant = next(tenant for tenant in prod.tenants if tenant.name == "platform-ml")
    desk = Desk(prod, tenant, tenant.namespaces[0])
    (pool,) = tenant.pools
    pods = [attempt.document["spec"] for attempt in permitted(desk) if attempt.pool]
    assert pods
    assert all(pod["tolerations"] == [taint.toleration() for taint in pool.taints] for pod in pods)


def test_examples_are_whole_objects_that_never_run() -> None:
    found = [example for policy in policies().values() for example in examples(policy)]
    assert {example.policy for example in found} == policies().keys()
    for example in found:
        spec = example.document.get("spec", {})
        if example.document["kind"] == "Pod":
            assert "schedulingGates" in spec or spec["nodeName"]
        if example.document["kind"] == "Job":
            assert spec["template"]["spec"]["restartPolicy"] == "Never"


def test_what_the_api_server_refuses_itself_is_not_laid_at_a_policys_door() -> None:
    refused = {example.shows: example.own_refusal for policy in policies().values() for example in examples(policy)}
    assert "Exists" in refused["The operator Exists with a value, which is ignored"]
    assert refused["An ingress rule with an empty peer"] == "must specify a peer"
    assert refused["A privileged container"] == ""


def test_a_patch_leads_from_one_object_to_the_other() -> None:
    before = {"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"list": [1, 2], "kept": 1}}
    after = {"metadata": {"labels": {"a": "1"}}, "spec": {"list": [2], "kept": 1}, "new": {}}
    assert changes(before, after) == {"metadata": {"labels": {"b": None}}, "spec": {"list": [2]}, "new": {}}


def test_who_refused_is_read_from_the_words() -> None:
    policy = "ValidatingAdmissionPolicy 'gatekeeper-gpuchostaccess' with binding 'b' denied request: "
    assert refuser(f"{policy}hostPID") == "policy"
    assert refuser(f"{policy}expression 'x' resulted in error: no such key") == "API server"
    assert refuser('pods "x" is forbidden: exceeded quota: gpuc, requested: ...') == "quota"
    assert refuser('jobs.batch is forbidden: User "m" cannot create resource "jobs"') == "API server"


def test_a_warning_is_no_silence() -> None:
    client = Client.__new__(Client)
    client._thread = type("Thread", (), {"warnings": ("[images] not from here",)})()
    assert judged(client, lambda: None).words == "[images] not from here"

    def refuse() -> None:
        raise ApiError(403, "exceeded quota: gpuc", "Forbidden")

    assert judged(client, refuse).by == "quota"
