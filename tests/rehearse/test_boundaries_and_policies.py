"""Test cases for tenant boundaries and policies: expected outcomes follow the model, and objects are valid."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec.structs import replace

from gpuc.cli.main import main
from gpuc.customize.merge import patch_between
from gpuc.model import Cluster
from gpuc.pipeline.stages import compiled_spec
from gpuc.policy.library import policies
from gpuc_rehearsal.client import Client
from gpuc_rehearsal.examples import examples
from gpuc_rehearsal.outcome import NO_OBJECTION, classify_response, refusing_component
from gpuc_rehearsal.sample_workloads import WorkloadFactory, permitted_samples
from gpuc_rehearsal.substitute import policy_resources
from gpuc_rehearsal.suites import Case, boundaries, counted
from gpuc_rehearsal.suites import policies as policy_suite
from gpuc_rehearsal.suites.policies import fleet_warnings
from gpuc_rehearsal.violations import violations
from tests.conftest import compiled_example
from tests.rehearse.conftest import Variant, without_objects
from tests.values import value_at


def case(cases: list[Case], *parts: str) -> Case:
    (found,) = (candidate for candidate in cases if all(part in candidate.name for part in parts))
    return found


def test_every_policy_has_violations(prod: Cluster) -> None:
    violated = {
        sample.policy
        for tenant, namespace in prod.namespaces
        for sample in violations(WorkloadFactory(prod, tenant, namespace))
    }
    assert violated == policies().keys()


def test_expectations_follow_stage_pod_security_and_quota(variant: Variant) -> None:
    namespace = ("tenants", "research", "namespaces", "research-train")
    cases = list(policy_suite.cases(variant(lambda spec: value_at(spec, namespace).update(podSecurity="privileged"))))
    denied = case(cases, "research-train host-access: The process namespace of the host").expected
    assert (denied.verdict, denied.by, denied.message) == ("refused", "policy", "host-access")
    baseline = case(cases, "research-lab host-access: The process namespace of the host").expected
    assert (baseline.by, baseline.message) == ("API server", 'violates PodSecurity "baseline')
    warned = case(cases, "research-train cost-label").expected
    assert (warned.verdict, warned.message) == ("admitted", "cost-label-research")
    unmetered = case(cases, "research-train gpu-resources: 1 nvidia.com/mig-2g.20gb").expected
    assert (unmetered.verdict, unmetered.by) == ("refused", "policy")
    assert case(cases, "kube-system host-access").expected.message == NO_OBJECTION


def test_a_quota_that_is_off_by_one_changes_the_expected_outcome(prod: Cluster) -> None:
    research = next(tenant for tenant in prod.tenants if tenant.name == "research")
    first, *others = research.namespaces
    limited = replace(first, ceiling=first.ceiling | {"nvidia.com/gpu": first.ceiling["nvidia.com/gpu"] - 1})
    less = replace(research, namespaces=(limited, *others))
    fewer = replace(prod, tenants=tuple(less if tenant is research else tenant for tenant in prod.tenants))
    original, changed = (
        case(list(boundaries.cases(without_objects(cluster))), "research-train", " nvidia.com/gpu and one")
        for cluster in (prod, fewer)
    )
    for found, used in ((original, 196), (changed, 195)):
        requested = "requested: requests.nvidia.com/gpu=1"
        assert found.expected.message == f"{requested}, used: requests.nvidia.com/gpu={used}, limited"


def test_a_member_with_role_view_must_not_create_objects(variant: Variant) -> None:
    cases = list(boundaries.cases(variant(lambda spec: spec["tenants"]["search"]["members"].update(role="view"))))
    (job,) = (found for found in cases if found.name.endswith("search-train: create a Job in queue search"))
    assert (job.expected.verdict, job.expected.message) == ("refused", 'cannot create resource "jobs"')
    reading = case(cases, "member of search (view) in search-train: list pods of search-train")
    assert reading.expected.verdict == "admitted"


@pytest.fixture
def hub() -> Cluster:
    """A cluster with auditors, and with members of several roles."""
    return compiled_example("vega-prod").cluster


def test_each_role_of_a_namespace_has_a_member(hub: Cluster) -> None:
    cases = list(boundaries.cases(without_objects(hub)))
    expected = {
        "(view) in nlp-lab: list pods of nlp-lab": "admitted",
        "(view) in nlp-lab: create a pod": "refused",
        "(no role) in nlp-train: list pods of nlp-train": "refused",
        "(edit) in nlp-train: create a pod": "admitted",
        "(edit) in nlp-train: create a ServiceAccount": "refused",
        "(admin) in nlp-train: create a ServiceAccount": "admitted",
    }
    actual = {name: case(cases, f"member of nlp {name}").expected.verdict for name in expected}
    assert actual == expected
    assert case(cases, "(no role) in nlp-train: create a pod").origin == ("spec", "tenants", "nlp", "members", 2)


def test_auditors_read_in_every_namespace_and_write_in_none(hub: Cluster) -> None:
    cases = [found for found in boundaries.cases(without_objects(hub)) if found.name.startswith("auditor: ")]
    for namespace in hub.tenant_namespaces:
        assert case(cases, f"list pods of {namespace}").expected.verdict == "admitted"
        assert case(cases, f"list secrets of {namespace}").expected.verdict == "refused"
        assert case(cases, f"create a pod in {namespace}").expected.verdict == "refused"
    assert all(found.is_refusal for found in cases if "list" not in found.name)


def test_an_auditor_that_is_a_member_reads_the_pods_of_other_tenants(hub: Cluster) -> None:
    auditors = hub.spec.auditors and hub.spec.auditors.model_copy(update={"groups": ["oidc:nlp"]})
    changed = replace(hub, spec=hub.spec.model_copy(update={"auditors": auditors}))
    cases = list(boundaries.cases(without_objects(changed)))
    assert not [found for found in cases if found.name.startswith("auditor")]
    assert case(cases, "nlp (edit) in nlp-train: list pods of api-serving").expected.verdict == "admitted"
    assert case(cases, "nlp (edit) in nlp-train: list secrets of api-serving").expected.verdict == "refused"


def test_permitted_pods_of_a_pool_tolerate_exactly_its_taints(prod: Cluster) -> None:
    tenant = next(tenant for tenant in prod.tenants if tenant.name == "platform-ml")
    factory = WorkloadFactory(prod, tenant, tenant.namespaces[0])
    (pool,) = tenant.pools
    pods = [sample.document["spec"] for sample in permitted_samples(factory) if sample.pool]
    assert pods
    assert all(pod["tolerations"] == [taint.toleration() for taint in pool.taints] for pod in pods)


def test_examples_are_complete_objects_that_never_run() -> None:
    found = [example for policy in policies().values() for example in examples(policy)]
    assert {example.policy for example in found} == policies().keys()
    for example in found:
        spec = example.document.get("spec", {})
        if example.document["kind"] == "Pod":
            assert "schedulingGates" in spec or spec["nodeName"]
        if example.document["kind"] == "Job":
            assert spec["template"]["spec"]["restartPolicy"] == "Never"


def test_no_example_updates_a_running_workload_because_kueue_suspends_new_workloads() -> None:
    found = [example for policy in policies().values() for example in examples(policy) if example.before]
    for spec in (example.before.get("spec", {}) for example in found if example.before):
        assert spec.get("suspend") is not False
        assert spec.get("runPolicy", {}).get("suspend") is not False
    titles = {example.title for example in found}
    assert "A member updates a suspended Job" in titles
    assert "A member updates a running PyTorchJob" not in titles


def test_c4_a_member_raises_the_parallelism_only_of_a_job_that_the_request_suspends(prod: Cluster) -> None:
    cases = list(counted.cases(without_objects(prod)))
    running = case(cases, "research-train parallelism raised in a running Job").expected
    assert (running.verdict, running.by, running.message) == ("refused", "policy", "queue-required-research")
    assert case(cases, "research-train parallelism raised while suspending a Job").expected.verdict == "admitted"


def test_invalid_examples_are_refused_by_the_api_server_and_not_by_a_policy() -> None:
    found = [example for policy in policies().values() for example in examples(policy)]
    refused = {example.title: example.api_server_refusal for example in found}
    assert "Exists" in refused["The operator Exists with a value, which is ignored"]
    assert refused["An ingress rule with an empty peer"] == "must specify a peer"
    assert refused["A privileged container"] == ""


def test_the_webhook_of_the_rehearsal_receives_the_kinds_of_all_constraints() -> None:
    resources = policy_resources(compiled_example("prod-use1").synced)
    network = "networking.k8s.io"
    assert {(network, "ingresses"), (network, "networkpolicies"), ("", "services")} <= {*resources}


def test_a_patch_changes_one_object_to_the_other() -> None:
    before = {"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"list": [1, 2], "kept": 1}}
    after = {"metadata": {"labels": {"a": "1"}}, "spec": {"list": [2], "kept": 1}, "new": {}}
    assert patch_between(before, after) == {"metadata": {"labels": {"b": None}}, "spec": {"list": [2]}, "new": {}}


def test_the_refusing_component_is_found_by_the_message() -> None:
    policy = "ValidatingAdmissionPolicy 'gatekeeper-gpuchostaccess' with binding 'b' denied request: "
    assert refusing_component(f"{policy}hostPID") == "policy"
    assert refusing_component(f"{policy}expression 'x' resulted in error: no such key") == "API server"
    assert refusing_component('pods "x" is forbidden: exceeded quota: gpuc, requested: ...') == "quota"
    assert refusing_component('jobs.batch is forbidden: User "m" cannot create resource "jobs"') == "API server"


# The two forms of a warning, as the API server of Kubernetes 1.35 and the webhook of Gatekeeper 3.23 answer.
NATIVE = (
    "Validation failed for ValidatingAdmissionPolicy 'gatekeeper-{kind}' with binding 'gatekeeper-{kind}-{name}': no"
)
WEBHOOK = "[{name}] no"


def lab(folder: Path, stage: str) -> Cluster:
    """The cluster of a new fleet, whose own policy has this stage."""
    assert main(["init", str(folder), "--requirement", "gpuc==0.1.0", "--name", "lab"]) == 0
    spec = folder / "specs/lab.yaml"
    text = spec.read_text("utf-8")
    assert text.count("stage: warn") == 1
    spec.write_text(text.replace("stage: warn", f"stage: {stage}"), encoding="utf-8")
    return compiled_spec(folder, "specs/lab.yaml").cluster


def outcome(warnings: list[str], ignored: tuple[str, ...]) -> str:
    client = cast(Client, SimpleNamespace(warnings=warnings))
    return classify_response(client, lambda: None, ignored).message


@pytest.mark.parametrize("form", [NATIVE, WEBHOOK])
def test_a_warning_of_the_fleet_counts_only_for_the_policy_that_is_tested(form: str, tmp_path: Path) -> None:
    cluster = lab(tmp_path, "warn")
    own = form.format(kind="gpucworkloadowner", name="workload-owner")
    other = form.format(kind="gpuccostlabel", name="cost-label-research")
    assert outcome([own], fleet_warnings(cluster)) == NO_OBJECTION
    assert outcome([own, other], fleet_warnings(cluster)) == other
    assert outcome([own], fleet_warnings(cluster, "workload-owner")) == own


@pytest.mark.parametrize("stage", ["deny", "dryrun"])
def test_only_the_stage_warn_has_warnings(stage: str, tmp_path: Path, prod: Cluster) -> None:
    assert fleet_warnings(lab(tmp_path, stage)) == fleet_warnings(prod) == ()
