"""Kubeflow Trainer, KubeRay and LeaderWorkerSet: optional components whose kinds Kueue manages."""

import copy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from gpuc.components.jobset.component import LEADER as JOBSET
from gpuc.components.kuberay.component import LEADER as KUBERAY
from gpuc.components.lws.component import LEADER as LWS
from gpuc.components.trainer.component import LEADER as TRAINER
from gpuc.diagnostics.finding import StageError
from gpuc.documents.reader import load_yaml
from gpuc.manifest.manifest import Manifest, Values
from gpuc.parts.workload_kinds import spec_frameworks
from gpuc.pipeline.fleet_catalog import fleet_catalog
from gpuc.pipeline.fleet_policies import fleet_policies
from gpuc.pipeline.stages import CompiledSpec, compile_source
from gpuc.source import read
from tests.alerts import promtool
from tests.conftest import REFERENCE, ROOT, Change, compiled_example

LEADERS = {"trainer": TRAINER, "kuberay": KUBERAY, "lws": LWS}
ACCOUNTS = {
    "trainer": "kubeflow-system:kubeflow-trainer-controller-manager",
    "kuberay": "kuberay-operator:kuberay-operator",
    "lws": "lws-system:lws-controller-manager",
}
LWS_KIND = "leaderworkerset.x-k8s.io/leaderworkerset"
each_component = pytest.mark.parametrize("name", sorted(LEADERS))


def compiled_with(change: Change) -> CompiledSpec:
    """Compiles a copy of the reference spec."""
    source = read(ROOT, REFERENCE)
    tree = copy.deepcopy(source.tree)
    change(tree["spec"])
    return compile_source(replace(source, tree=tree), fleet_policies(ROOT), catalog=fleet_catalog(ROOT).catalog)


def with_all(spec: dict[str, Any]) -> None:
    spec["components"] = {name: {} for name in ("jobset", *LEADERS)}


@cache
def compiled() -> CompiledSpec:
    """The reference spec with all components."""
    return compiled_with(with_all)


def of_kind(kind: str, spec: CompiledSpec | None = None) -> list[Manifest]:
    artifacts = (spec or compiled()).artifacts
    return [item for item in artifacts if isinstance(item, Manifest) and item.kind == kind]


def values(name: str) -> dict[str, Any]:
    (found,) = (item for item in compiled().artifacts if isinstance(item, Values) and item.component == name)
    return found.body


def kueue() -> dict[str, Any]:
    configuration: dict[str, Any] = load_yaml(values("kueue")["managerConfig"]["controllerManagerConfigYaml"])
    return configuration


def test_kueue_manages_the_kinds_of_all_components() -> None:
    assert compiled().findings == ()
    expected = ["batch/job", "jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob"]
    ray = ["ray.io/rayjob", "ray.io/raycluster", "ray.io/rayservice"]
    assert kueue()["integrations"]["frameworks"] == [*expected, *ray, LWS_KIND]


def test_d16_with_leader_worker_sets_kueue_leaves_pods_without_a_queue_alone() -> None:
    assert kueue()["manageJobsWithoutQueueName"] is False
    kinds = {kind for item in of_kind("GpucQueueRequired") for kind in item.body["spec"]["parameters"]["kinds"]}
    assert {"LeaderWorkerSet", "TrainJob", "RayService"} <= kinds


def test_d56_trainer_installs_no_second_jobset_and_no_runtimes_from_the_internet() -> None:
    body = values("trainer")
    assert not body["jobset"]["install"] and not body["dataCache"]["enabled"] and not body["runtimes"]["defaultEnabled"]
    assert body["webhook"]["failurePolicy"] == "Fail" and body["manager"]["resources"]["requests"]


def test_d54_images_have_the_version_of_the_chart() -> None:
    pinned = {"repository": "registry.k8s.io/lws/lws", "tag": "v0.9.0", "pullPolicy": "IfNotPresent"}
    assert values("lws")["image"]["manager"] == pinned
    assert values("kuberay")["image"] == {"tag": "v1.6.2"}


@each_component
def test_policies_know_the_service_account(name: str) -> None:
    kinds = ("GpucGpuQuota", "GpucOwnedWorkloads", "GpucQueueRequired")
    for item in (item for kind in kinds for item in of_kind(kind)):
        assert f"system:serviceaccount:{ACCOUNTS[name]}" in item.body["spec"]["parameters"]["controllers"]


def test_members_write_the_kinds_and_read_runtimes() -> None:
    (role,) = (item for item in of_kind("Role") if (item.namespace, item.name) == ("research-train", "gpuc-edit"))
    verbs = {name: set(rule["verbs"]) for rule in role.body["rules"] for name in rule["resources"]}
    for name in ("trainjobs", "jobsets", "rayjobs", "rayclusters", "rayservices", "leaderworkersets"):
        assert {"create", "delete", "patch"} <= verbs[name]
    assert verbs["trainingruntimes"] == {"get", "list", "watch"} and "clustertrainingruntimes" not in verbs


def test_d59_the_operator_reaches_the_heads_of_ray_clusters_of_tenants() -> None:
    policies = [item for item in of_kind("NetworkPolicy") if item.name == "allow-kuberay"]
    assert len(policies) == len([item for item in of_kind("NetworkPolicy") if item.name == "default-deny"])
    (rule,) = policies[0].body["spec"]["ingress"]
    assert [port["port"] for port in rule["ports"]] == [8265, 8000]
    fences = of_kind("GpucNetworkPolicyFence")
    assert all("kuberay-operator" in item.body["spec"]["parameters"]["ingressNamespaces"] for item in fences)
    assert not [item for item in of_kind("NetworkPolicy", compiled_example("train-usw2")) if "kuberay" in item.name]


def test_definitions_exist_before_kueue_starts() -> None:
    waves = {item.name: int(item.annotations["argocd.argoproj.io/sync-wave"]) for item in of_kind("Application")
             if "argocd.argoproj.io/sync-wave" in item.annotations}  # fmt: skip
    assert waves["prod-use1-jobset"] < waves["prod-use1-trainer"] < waves["prod-use1-kueue"]
    assert max(waves["prod-use1-kuberay"], waves["prod-use1-lws"]) < waves["prod-use1-kueue"]


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("trainer", {"jobset": {"install": True}}),
        ("trainer", {"runtimes": {"defaultEnabled": True}}),
        ("trainer", {"manager": {"config": {"leaderElection": {"leaderElect": False}}}}),
        ("kuberay", {"batchScheduler": {"name": "volcano"}}),
        ("kuberay", {"singleNamespaceInstall": True}),
        ("lws", {"gangSchedulingManagement": {"schedulerProvider": "volcano"}}),
        ("lws", {"enableCertManager": True}),
    ],
)
def test_a_value_that_gpuc_relies_on_stays(name: str, own: dict[str, Any]) -> None:
    def change(spec: dict[str, Any]) -> None:
        with_all(spec)
        spec["components"][name] = {"values": own}

    with pytest.raises(StageError) as raised:
        compiled_with(change)
    assert [finding.id for finding in raised.value.findings] == ["VAL101"]


def test_trainer_without_jobset_is_refused() -> None:
    with pytest.raises(StageError) as raised:
        compiled_with(lambda spec: spec.update(components={"trainer": {}}))
    (finding,) = raised.value.findings
    assert finding.id == "CMP003" and finding.path == ("spec", "components", "trainer")


@pytest.mark.parametrize(("name", "leader"), sorted({"jobset": JOBSET, **LEADERS}.items()))
def test_the_alert_fires_if_no_replica_leads(name: str, leader: str, tmp_path: Path) -> None:
    program = promtool.find_promtool()
    if program is None:
        pytest.skip(promtool.MISSING)
    (group,) = (item.body["spec"]["groups"][0] for item in of_kind("PrometheusRule") if item.name.endswith(f"-{name}"))
    (rule,) = group["rules"]
    first, second = (leader.replace("}", f',pod="{pod}"}}') for pod in "ab")
    other = first.replace('name="', 'name="other-')
    fired = [{"exp_labels": rule["labels"], "exp_annotations": rule["annotations"]}]
    cases: list[tuple[dict[str, str], dict[str, list[Any]]]] = [
        ({first: "1x60", second: "0x60"}, {"40m": []}),
        # The second replica leads a minute later.
        ({first: "1x20 0x40", second: "0x21 1x39"}, {"25m": [], "40m": []}),
        ({first: "1x20 0x40", second: "0x60", other: "1x60"}, {"25m": [], "40m": fired}),
    ]
    tests = [
        {
            "interval": "1m",
            "input_series": [{"series": series, "values": samples} for series, samples in inputs.items()],
            "alert_rule_test": [
                {"eval_time": time, "alertname": rule["alert"], "exp_alerts": alerts}
                for time, alerts in expected.items()
            ],
        }
        for inputs, expected in cases
    ]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [group]}))
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}))
    assert promtool.run((str(program), "test", "rules", str(file))) == ""


@each_component
def test_each_kind_of_the_component_is_one_that_a_spec_can_name(name: str) -> None:
    assert set(compiled().cluster.components[name].frameworks) <= spec_frameworks().keys()
