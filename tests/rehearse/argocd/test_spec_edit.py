"""Edits of a spec file with layers."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuc.documents.reader import load_yaml
from tests.conformance.argocd_edits.sample_edits import SpecFile

PROD = "specs/prod-use1.yaml"


def test_one_value_changes(fleet: Path) -> None:
    before = SpecFile(fleet, PROD).merged()
    SpecFile(fleet, PROD).set(("spec", "pools", "general", "nodes", "max"), 11)
    after = SpecFile(fleet, PROD).merged()
    assert after["spec"]["pools"]["general"].pop("nodes") == {"max": 11}
    assert before["spec"]["pools"]["general"].pop("nodes") == {"max": 10}
    assert after == before


def test_a_value_of_a_layer_is_written_over_in_the_cluster_s_own_file(fleet: Path) -> None:
    layer = (fleet / "specs/base/eks.yaml").read_bytes()
    spec = SpecFile(fleet, PROD)
    assert spec.merged()["spec"]["delivery"]["prune"] == "confirm"
    spec.set(("spec", "delivery", "prune"), "never")
    delivery = SpecFile(fleet, PROD).merged()["spec"]["delivery"]
    assert (delivery["prune"], delivery["revision"]) == ("never", "main")
    assert (fleet / "specs/base/eks.yaml").read_bytes() == layer


def test_what_a_file_has_goes_and_what_a_layer_has_is_removed_by_a_null(fleet: Path) -> None:
    spec = SpecFile(fleet, PROD)
    spec.remove(("spec", "pools", "dev-l4"))
    spec.remove(("spec", "kueue", "frameworks"))
    merged = SpecFile(fleet, PROD).merged()["spec"]
    assert "dev-l4" not in merged["pools"]
    assert "frameworks" not in merged["kueue"]
    own = load_yaml(spec.path.read_text(encoding="utf-8"))["spec"]
    assert own["kueue"]["frameworks"] is None
    assert "dev-l4" not in own["pools"]


def test_a_key_gets_another_name_in_its_place(fleet: Path) -> None:
    SpecFile(fleet, PROD).rename(("spec", "tenants", "search"), "find")
    tenants = SpecFile(fleet, PROD).merged()["spec"]["tenants"]
    assert list(tenants) == ["research", "find", "platform-ml"]
    assert "search-serving" in tenants["find"]["namespaces"]
    with pytest.raises(KeyError):
        SpecFile(fleet, PROD).rename(("spec", "tenants", "nothing"), "x")
