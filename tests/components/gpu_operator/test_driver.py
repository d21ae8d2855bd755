"""What a change of the driver of the GPU Operator does to running nodes, for objects and for values of the chart."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gpuc.plan.change import Change
from gpuc.plan.impact import Impact
from gpuc.plan.planner import plan_cluster
from gpuc.plan.state import manifest_state
from tests.lanes import drawn
from tests.plan.test_manifest_sets import WRONG
from tests.values import changed, paths

Body = dict[str, Any]
AUTO: Body = {"autoUpgrade": True, "podDeletion": {"force": True, "deleteEmptyDir": True}}
OLD, NEW = "580.95.05", "590.48.01"


def policy(driver: Body, **others: Any) -> Body:
    metadata = {"name": "cluster-policy"}
    return {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": metadata,
        "spec": {"driver": driver, **others},
    }


def nvidia_driver(**spec: Any) -> Body:
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "NVIDIADriver", "metadata": {"name": "default"}, "spec": spec}


OTHER: Body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gpu-operator"}}
BY_OBJECTS = policy({"useNvidiaDriverCRD": True})


def application(version: str, values: Any = None, **helm: Any) -> Body:
    given = {"valuesObject": values} if isinstance(values, dict) else {"values": values} if values else {}
    source = {
        "repoURL": "https://helm.ngc.nvidia.com/nvidia",
        "chart": "gpu-operator",
        "targetRevision": version,
        "helm": {**given, **helm},
    }
    metadata = {"name": "gpu-operator", "namespace": "argocd"}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": metadata,
        "spec": {"source": source},
    }


def release(version: str, values: Body) -> Body:
    spec = {"chart": {"spec": {"chart": "gpu-operator", "version": version}}, "values": values}
    return {"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": "gpu"}, "spec": spec}


def impacts(folder: Path, before: list[Body], after: list[Body]) -> list[Impact]:
    states = []
    for name, objects in (("before", before), ("after", after)):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "objects.yaml").write_text(yaml.safe_dump_all(objects), encoding="utf-8")
        states.append(manifest_state(str(folder / name))[0])
    return [impact for impact in plan_cluster(Change(states[0], states[1])).impacts if "IMP140" < impact.id < "IMP150"]


UPGRADE = "the GPU Operator upgrades the driver"


@pytest.mark.parametrize(
    ("before", "after", "identifier", "words"),
    [
        (
            policy({"version": OLD, "upgradePolicy": AUTO}),
            policy({"version": NEW, "upgradePolicy": AUTO}),
            "IMP144",
            f"{UPGRADE} {OLD} -> {NEW} of running nodes, one at a time: it cordons a node, evicts its pods with "
            "GPUs and restarts its driver pod",
        ),
        (policy({"version": OLD}), policy({"version": NEW}), "IMP142", "running nodes keep their driver until"),
        (policy({"version": OLD}), policy({"version": NEW, "upgradePolicy": AUTO}), "IMP144", "of running nodes, one"),
        (policy({}), policy({"upgradePolicy": AUTO}), "IMP144", "of running nodes with an older driver pod, one"),
        (policy({"upgradePolicy": AUTO}), policy({}), "IMP142", "automatic upgrades of the driver end; running nodes"),
        (
            policy({"upgradePolicy": AUTO}),
            policy({"upgradePolicy": AUTO | {"maxParallelUpgrades": 4}}),
            "IMP142",
            "later upgrades of the driver: 4 at a time, at most 25% of them",
        ),
        (
            policy({"version": OLD}),
            policy({"version": NEW, "upgradePolicy": {"autoUpgrade": True}}),
            "IMP144",
            "it cordons a node, stops",
        ),
        (
            policy({"kernelModuleType": "auto", "upgradePolicy": AUTO}),
            policy({"kernelModuleType": "open", "upgradePolicy": AUTO}),
            "IMP144",
            f"{UPGRADE} (driver.kernelModuleType) of",
        ),
        (
            policy({"upgradePolicy": AUTO}),
            policy({"upgradePolicy": AUTO, "resources": {"limits": {"cpu": 1}}}),
            "IMP145",
            "cordons running nodes, one at a time, and restarts their driver pods",
        ),
        (
            policy({"upgradePolicy": AUTO}, gdrcopy={"enabled": False}),
            policy({"upgradePolicy": AUTO}, gdrcopy={"enabled": True}),
            "IMP144",
            "(gdrcopy.enabled)",
        ),
        (
            policy({"upgradePolicy": AUTO}, gds={"enabled": False, "version": "1"}),
            policy({"upgradePolicy": AUTO}, gds={"enabled": False, "version": "2"}),
            "",
            "",
        ),
        (
            policy({"version": OLD, "upgradePolicy": AUTO}, sandboxWorkloads={"enabled": True}),
            policy({"version": NEW, "upgradePolicy": AUTO}, sandboxWorkloads={"enabled": True}),
            "IMP142",
            f"{OLD} -> {NEW}",
        ),
        (policy({"enabled": False}), policy({"enabled": True, "upgradePolicy": AUTO}), "IMP142", "starts driver pods"),
        (policy({"enabled": True}), policy({"enabled": False}), "IMP143", "deletes the driver pods"),
        (
            policy({"version": OLD, "upgradePolicy": AUTO, "useNvidiaDriverCRD": True}),
            policy({"version": NEW, "upgradePolicy": AUTO, "useNvidiaDriverCRD": True}),
            "",
            "",
        ),
        # An NVIDIADriver without a policy is upgraded.
        (
            nvidia_driver(version=OLD),
            nvidia_driver(version=NEW),
            "IMP144",
            f"{OLD} -> {NEW} of running nodes, one at a time",
        ),
        (nvidia_driver(version=OLD, upgradePolicy={}), nvidia_driver(version=NEW, upgradePolicy={}), "IMP142", NEW),
        (nvidia_driver(labels={"a": "b"}), nvidia_driver(labels={"a": "c"}), "IMP145", "restarts their driver pods"),
        # Values of the chart, whose default is to upgrade.
        (
            application("v26.7.0", {"driver": {"version": OLD}}),
            application("v26.7.0", {"driver": {"version": NEW}}),
            "IMP144",
            f"{OLD} -> {NEW} of running nodes, one at a time",
        ),
        (
            application("v26.7.0", f"driver: {{version: {OLD}}}"),
            application("v26.7.0", f"driver: {{version: {NEW}}}"),
            "IMP144",
            f"{OLD} -> {NEW}",
        ),
        (
            application("v26.7.0"),
            application("v26.7.0", parameters=[{"name": "driver.version", "value": NEW}]),
            "IMP144",
            f"595.91.07 -> {NEW}",
        ),
        (
            application("v26.7.0"),
            application("v26.7.0", {"driver": {"upgradePolicy": {"autoUpgrade": False}}}),
            "IMP142",
            "automatic upgrades of the driver end",
        ),
        (
            application("v26.7.0", {"driver": {"version": OLD, "upgradePolicy": {"autoUpgrade": False}}}),
            application("v26.7.0", {"driver": {"version": NEW, "upgradePolicy": {"autoUpgrade": False}}}),
            "IMP142",
            NEW,
        ),
        (
            application("v26.7.0", {"driver": {"enabled": False, "version": OLD}}),
            application("v26.7.0", {"driver": {"enabled": False, "version": NEW}}),
            "",
            "",
        ),
        (
            application("v26.7.0", {"driver": {"version": OLD}, "clusterPolicy": {"deployCR": False}}),
            application("v26.7.0", {"driver": {"version": NEW}, "clusterPolicy": {"deployCR": False}}),
            "",
            "",
        ),
        # A new version of the chart has another default driver, or another driver manager.
        (application("v25.10.1"), application("v26.7.0"), "IMP144", "580.105.08 -> 595.91.07"),
        (application("v26.3.1"), application("v26.3.2"), "IMP144", f"{UPGRADE} (driver.manager.version)"),
        (application("v26.3.0"), application("v26.3.1"), "IMP145", "restarts their driver pods"),
        (application("v26.7.0"), application("v30.1.0"), "IMP144", "595.91.07 -> default of chart v30.1.0"),
        (
            application("v25.10.1", valueFiles=["$values/gpu.yaml"]),
            application("v26.7.0", valueFiles=["$values/gpu.yaml"]),
            "",
            "",
        ),
        (release("v26.3.0", {}), release("v26.7.0", {}), "IMP144", "580.126.20 -> 595.91.07"),
        (
            policy({"useNvidiaDriverCRD": False}),
            policy({"useNvidiaDriverCRD": True}),
            "IMP142",
            "no NVIDIADriver exists: new nodes get no driver; driver pods that run stay",
        ),
        (
            release("v26.7.0", {"driver": {"version": OLD}}),
            release("v26.7.0", {"driver": {"version": NEW}}),
            "IMP144",
            NEW,
        ),
    ],
)
def test_changes_of_the_driver(before: Body, after: Body, identifier: str, words: str, tmp_path: Path) -> None:
    found = impacts(tmp_path, [before], [after])
    assert [impact.id for impact in found] == [identifier] * bool(identifier), found
    assert all(words in impact.message for impact in found), found
    assert all(impact.mark is not None for impact in found)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            [policy({}), OTHER],
            [OTHER],
            "the removal of the ClusterPolicy deletes all its DaemonSets and their pods at once",
        ),
        (
            [BY_OBJECTS, nvidia_driver()],
            [BY_OBJECTS],
            "the removal of the NVIDIADriver deletes all its DaemonSets and their pods",
        ),
        ([policy({}), nvidia_driver()], [policy({})], ""),
        (
            [BY_OBJECTS, nvidia_driver(nodeSelector={"gpu": "a"})],
            [BY_OBJECTS, nvidia_driver(nodeSelector={"gpu": "b"})],
            "the driver pods of nodes that nodeSelector no longer selects are deleted at once",
        ),
        (
            [BY_OBJECTS, nvidia_driver(nodeSelector={"gpu": "a"})],
            [BY_OBJECTS, nvidia_driver(nodeSelector={})],
            "",
        ),
    ],
)
def test_the_driver_pods_that_end_with_an_object(
    before: list[Body], after: list[Body], words: str, tmp_path: Path
) -> None:
    found = [impact.message for impact in impacts(tmp_path, before, after) if impact.id == "IMP143"]
    assert len(found) == bool(words)
    assert all(words in message for message in found)


@pytest.mark.parametrize(
    ("spec", "pace"),
    [
        ({}, "one at a time"),
        ({"maxParallelUpgrades": 0}, "up to 25% of them at a time"),
        ({"maxParallelUpgrades": 0, "maxUnavailable": 3}, "3 at a time"),
        ({"maxParallelUpgrades": 4, "maxUnavailable": 1}, "one at a time"),
        ({"maxParallelUpgrades": 4, "maxUnavailable": "100%"}, "4 at a time, at most 100% of them"),
        ({"maxUnavailable": "0%"}, ""),
        ({"maxUnavailable": "5"}, ""),
        ({"maxParallelUpgrades": "a", "maxUnavailable": "9" * 5000 + "%"}, "one at a time"),
    ],
)
def test_how_many_nodes_are_upgraded_at_a_time(spec: Body, pace: str, tmp_path: Path) -> None:
    sides = [policy({"version": version, "upgradePolicy": AUTO | spec}) for version in (OLD, NEW)]
    (found,) = impacts(tmp_path, sides[:1], sides[1:])
    assert found.id == ("IMP144" if pace else "IMP142")
    assert (
        f"of running nodes, {pace}:" in found.message if pace else "maxUnavailable allows no upgrade" in found.message
    )


def test_what_happens_to_pods(tmp_path: Path) -> None:
    careful = {
        "autoUpgrade": True,
        "podDeletion": {"timeoutSeconds": 60},
        "waitForCompletion": {"podSelector": "app=train"},
    }
    sides = [policy({"version": version, "upgradePolicy": careful}) for version in (OLD, NEW)]
    (found,) = impacts(tmp_path, sides[:1], sides[1:])
    assert found.details == (
        "the operator first waits without a limit until pods with app=train have ended",
        "evicted are the pods that request nvidia.com/gpu, a MIG slice or a claim of a GPU; PodDisruptionBudgets "
        "count, and annotations of pods against disruption do not",
        "if such a pod has no controller or has an emptyDir volume or is not evicted within 60 s, the upgrade of the "
        "node fails, and the node stays cordoned",
        "a node with the label nvidia.com/gpu-driver-upgrade.skip=true keeps its driver",
    )


def test_the_line_is_that_of_the_value_or_of_the_version(tmp_path: Path) -> None:
    def text(before: Body, after: Body) -> str:
        (found,) = impacts(tmp_path, [before], [after])
        assert found.mark is not None
        lines = (tmp_path / "after/objects.yaml").read_text(encoding="utf-8").splitlines()
        return lines[found.mark.line - 1].strip()

    assert text(application("v26.7.0"), application("v26.7.0", {"driver": {"version": NEW}})) == f"version: {NEW}"
    assert text(application("v26.3.0"), application("v26.7.0")) == "targetRevision: v26.7.0"
    assert text(release("v26.3.0", {}), release("v26.7.0", {})) == "version: v26.7.0"


VALID = (
    policy(
        {"version": OLD, "upgradePolicy": AUTO | {"drain": {"enable": True}, "maxUnavailable": "25%"}},
        gds={"enabled": True},
    ),
    nvidia_driver(version=OLD, upgradePolicy=AUTO),
    application("v26.7.0", {"driver": {"version": OLD, "upgradePolicy": {"gpuPodDeletion": {"force": True}}}}),
    release("v26.7.0", {"driver": {"version": OLD, "manager": {"version": "v1"}}}),
)
EDITS = [(index, *edit) for index, body in enumerate(VALID) for edit in product(paths(body["spec"]), WRONG)]


@drawn(120)
@given(edit=st.sampled_from(EDITS))
def test_wrong_values_cause_no_internal_error(edit: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    index, path, value = edit
    wrong = {**VALID[index], "spec": changed(VALID[index]["spec"], path, value)}
    folder = tmp_path_factory.mktemp("wrong")
    for sides in (([VALID[index]], [wrong]), ([wrong], [VALID[index]])):
        assert all("\n" not in impact.message for impact in impacts(folder, *sides))
