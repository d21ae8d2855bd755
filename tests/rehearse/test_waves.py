"""Objects are applied in the order of the sync waves of the Applications, and differ from stored objects."""

import pytest
from msgspec.structs import replace

from gpuc.kubernetes.argocd import WAVE
from gpuc.pipeline.stages import CompiledSpec
from gpuc.source import read
from gpuc_rehearsal.apply import differences, namespaces, steps
from gpuc_rehearsal.client import Object
from gpuc_rehearsal.transition.run import compiled_from
from tests.conftest import EXAMPLES, ROOT, compiled_example


@pytest.fixture(scope="module", params=EXAMPLES)
def spec(request: pytest.FixtureRequest) -> CompiledSpec:
    return compiled_example(request.param)


@pytest.mark.share(3)
@pytest.mark.parametrize(("text", "wave"), [("-3", -3), ("+2", 2), ("--1", 0), ("first", 0)])
def test_a_wave_that_is_not_a_number_is_wave_0(text: str, wave: int, spec: CompiledSpec) -> None:
    pool = next(manifest for manifest in spec.synced if manifest.kind == "NodePool")
    changed = replace(pool, annotations={WAVE: text})
    synced = [changed if manifest is pool else manifest for manifest in spec.synced]
    assert [step.wave for step in steps(synced) if changed in step.manifests] == [wave]


def test_every_object_is_applied_once(spec: CompiledSpec) -> None:
    applied = [str(manifest) + manifest.api for step in steps(spec.synced) for manifest in step.manifests]
    assert sorted(applied) == sorted(str(manifest) + manifest.api for manifest in spec.synced)


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("AppProject", "Application"),
        ("ConstraintTemplate", "NodePool"),
        ("EC2NodeClass", "NodePool"),
        ("NodeOverlay", "NodePool"),
        ("ResourceFlavor", "ClusterQueue"),
        ("ClusterQueue", "LocalQueue"),
        ("Namespace", "ResourceQuota"),
        ("Namespace", "NetworkPolicy"),
    ],
)
def test_dependencies_are_applied_first(spec: CompiledSpec, first: str, then: str) -> None:
    kinds = [manifest.kind for step in steps(spec.synced) for manifest in step.manifests]
    last_of_first = len(kinds) - 1 - kinds[::-1].index(first)
    assert last_of_first < kinds.index(then)


def test_an_object_that_no_application_syncs_is_an_error(spec: CompiledSpec) -> None:
    lost = replace(spec.synced[0], file=f"out/{spec.cluster.name}/lost/a.yaml")
    with pytest.raises(ValueError, match=r"lost/a\.yaml"):
        steps([*spec.synced, lost])


def test_the_fleet_can_be_in_a_subfolder_of_the_repository() -> None:
    synced = compiled_example("custom-euc1").synced
    applied = [(step.application, manifest.file) for step in steps(synced) for manifest in step.manifests]
    assert ("custom-euc1-extra", "out/custom-euc1/extra/issuer.yaml") in applied
    assert ("custom-euc1-extra-vision", "out/custom-euc1/extra/vision/demo.yaml") in applied


def test_the_output_can_have_another_name_in_the_repository() -> None:
    found = read(ROOT, "specs/prod-use1.yaml")
    delivery = found.tree["spec"]["delivery"] | {"path": "rendered/clusters"}
    tree = found.tree | {"spec": found.tree["spec"] | {"delivery": delivery}}
    synced = compiled_from(ROOT, replace(found, tree=tree)).synced
    assert {id(manifest) for step in steps(synced) for manifest in step.manifests} == {
        id(manifest) for manifest in synced
    }


def test_namespaces_of_applications_have_the_labels_that_argo_cd_gives_them(spec: CompiledSpec) -> None:
    made = {namespace["metadata"]["name"]: namespace["metadata"]["labels"] for namespace in namespaces(spec.synced)}
    assert made["gpu-operator"]["pod-security.kubernetes.io/enforce"] == "privileged"
    assert made["argocd"] == {}


@pytest.mark.parametrize(
    ("written", "stored", "text"),
    [
        ({"spec": {"cpu": "1000m"}}, {"spec": {"cpu": "1"}}, "spec.cpu was written as '1000m' and is '1'"),
        ({"spec": {"typo": 1}}, {"spec": {}}, "spec.typo was written as 1 and is missing in the stored object"),
        (
            {"spec": {"a": [{"b": 1}]}},
            {"spec": {"a": [{"b": 1, "c": 2}]}},
            "spec.a[0].c was not written and is 2 by default",
        ),
        ({"spec": {"a": [1, 2]}}, {"spec": {"a": [2, 1]}}, "spec.a[0] was written as 1 and is 2"),
        ({"spec": {"a": [1]}}, {"spec": {"a": [1, 2]}}, "spec.a was written as [1] and is [1, 2]"),
    ],
)
def test_differences_have_a_path_and_both_values(written: Object, stored: Object, text: str) -> None:
    assert text in [str(difference) for difference in differences(written, stored)]


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ({"spec": {"a": 1}}, {"spec": {"a": 1, "policy": "None"}, "status": {}}),
        ({"spec": {"selector": {}}}, {"spec": {}}),
        ({"spec": {"a": [{"b": {"c": "1"}}]}}, {"spec": {"a": [{"b": {"c": "1"}}]}}),
    ],
)
def test_defaults_outside_lists_are_no_differences(written: Object, stored: Object) -> None:
    assert differences(written, stored) == []
