"""What Argo CD applies and prunes: ignored fields keep their live values, objects of removed Applications stay."""

from copy import deepcopy
from pathlib import Path

from gpuc.manifest.manifest import Manifest
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.crds import Definitions
from gpuc_rehearsal.plane.kwok import zones_of
from gpuc_rehearsal.substitute import settings
from gpuc_rehearsal.transition.run import shared_settings
from gpuc_rehearsal.transition.synced_changes import ignored_fields, removed_sources, with_live_fields
from tests.conftest import compiled_example
from tests.plan.cases import HEAD, compiled
from tests.rehearse.conftest import StoredObjects

NO_DEFINITIONS = Definitions((), ())


def cluster_queue(spec: CompiledSpec) -> Manifest:
    return next(manifest for manifest in spec.synced if (manifest.kind, manifest.name) == ("ClusterQueue", "search"))


def test_a_field_that_argo_cd_ignores_keeps_its_live_value(prod_spec: CompiledSpec) -> None:
    ignored = ignored_fields(prod_spec.synced)
    assert ignored["kueue.x-k8s.io", "ClusterQueue"] == ("/spec/stopPolicy",)
    manifest = cluster_queue(prod_spec)
    live = deepcopy(manifest.document())
    live["spec"]["stopPolicy"] = "HoldAndDrain"
    live["spec"]["cohortName"] = "other"
    applied = with_live_fields(StoredObjects(live), manifest, ignored)  # type: ignore[arg-type]
    assert applied["spec"]["stopPolicy"] == "HoldAndDrain"
    assert applied["spec"]["cohortName"] == "company"
    assert manifest.body["spec"]["stopPolicy"] == "None"


def test_a_new_object_gets_the_written_value(prod_spec: CompiledSpec) -> None:
    applied = with_live_fields(StoredObjects(), cluster_queue(prod_spec), ignored_fields(prod_spec.synced))  # type: ignore[arg-type]
    assert applied["spec"]["stopPolicy"] == "None"


def test_objects_of_a_removed_application_stay(prod_spec: CompiledSpec) -> None:
    before = prod_spec.synced
    after = [
        manifest
        for manifest in before
        if manifest.name != "prod-use1-policies-constraints" and "/constraints/" not in manifest.file
    ]
    sources = removed_sources(before, after)
    orphans = {manifest.name for manifest in before if any(source.syncs(manifest.file) for source in sources)}
    assert "queue-required-research" in orphans
    assert not {"research", "train-h100"} & orphans
    assert not removed_sources(before, before)


def test_the_settings_have_the_instance_types_and_zones_of_both_states(prod_spec: CompiledSpec) -> None:
    other = compiled_example("train-usw2")
    shared = shared_settings(prod_spec, [other], NO_DEFINITIONS)
    types = {row["name"]: row for row in shared.instance_types}
    assert {"g6.12xlarge", "p5en.48xlarge"} <= types.keys()
    for name in ("g6.12xlarge", "p5en.48xlarge"):
        offerings = [
            {row["key"]: row["values"][0] for row in offering["Requirements"]} for offering in types[name]["offerings"]
        ]
        places = [
            (offering["topology.kubernetes.io/zone"], offering["karpenter.sh/capacity-type"]) for offering in offerings
        ]
        assert len(places) == len(set(places)) == 15
        assert ("us-west-2c", "reserved") in places
        assert ("us-east-1a", "spot") in places


def test_a_zone_of_the_state_after_has_offerings_of_the_instance_types_before(prod_spec: CompiledSpec) -> None:
    other = compiled_example("custom-euc1")
    shared = shared_settings(prod_spec, [other], NO_DEFINITIONS)
    rows = [row for offering in shared.instance_types[0]["offerings"] for row in offering["Requirements"]]
    zones = {row["values"][0] for row in rows if row["key"] == "topology.kubernetes.io/zone"}
    assert zones == {*zones_of(prod_spec.cluster), *zones_of(other.cluster)}


def test_programs_run_if_only_the_state_after_needs_them(prod_spec: CompiledSpec, tmp_path: Path) -> None:
    minimal = compiled(tmp_path, HEAD + "extends: [minimal.yaml]\n")
    alone, wanted = settings(minimal, NO_DEFINITIONS), settings(prod_spec, NO_DEFINITIONS)
    assert (alone.kueue_configuration, alone.has_gatekeeper) == (None, False)
    shared = shared_settings(minimal, [prod_spec], NO_DEFINITIONS)
    assert wanted.kueue_configuration
    assert (shared.kueue_configuration, shared.has_gatekeeper) == (wanted.kueue_configuration, True)
