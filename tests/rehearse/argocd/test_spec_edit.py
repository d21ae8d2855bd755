"""Edits of a spec file with comments and layers."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuc.rehearse.argocd.spec_edit import SpecFile

PROD = "specs/prod-use1.yaml"


def test_a_value_changes_and_every_comment_stays(fleet: Path) -> None:
    before = (fleet / PROD).read_text(encoding="utf-8")
    SpecFile(fleet, PROD).set(("spec", "pools", "general", "nodes", "max"), 11)
    after = (fleet / PROD).read_text(encoding="utf-8")
    assert SpecFile(fleet, PROD).merged()["spec"]["pools"]["general"]["nodes"] == {"max": 11}
    assert [line for line in before.splitlines() if "#" in line and line not in after.splitlines()] == []
    changed = [pair for pair in zip(before.splitlines(), after.splitlines(), strict=True) if pair[0] != pair[1]]
    assert changed == [("      nodes: {max: 10}", "      nodes: {max: 11}")]


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
    assert "frameworks: null" in spec.path.read_text(encoding="utf-8")
    assert "dev-l4:" not in spec.path.read_text(encoding="utf-8").partition("queues:")[0]


def test_a_key_gets_another_name_in_its_place(fleet: Path) -> None:
    SpecFile(fleet, PROD).rename(("spec", "tenants", "search"), "find")
    tenants = SpecFile(fleet, PROD).merged()["spec"]["tenants"]
    assert list(tenants) == ["research", "find", "platform-ml"]
    assert "search-serving" in tenants["find"]["namespaces"]
    with pytest.raises(KeyError):
        SpecFile(fleet, PROD).rename(("spec", "tenants", "nothing"), "x")
