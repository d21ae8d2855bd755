"""The committed schema tables equal what upstream files give, and have facts about the kinds."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from gpuc.catalog import schemas
from gpuc.catalog.schemas.crds import custom_tables
from gpuc.catalog.schemas.derive import derived, derived_builtins

FOLDER = Path(schemas.__file__).parent
WITHOUT_REFERENCE = [("cilium.io/v2", "CiliumNetworkPolicy")]
"""Kinds whose CRD is not among the reference data. Source of the table: cilium/cilium v1.20.2."""


def committed(*patterns: str) -> dict[str, str]:
    return {
        path.relative_to(FOLDER).as_posix(): path.read_text(encoding="utf-8")
        for pattern in patterns
        for path in FOLDER.glob(pattern)
    }


def test_tables_of_crds_and_charts_are_fresh() -> None:
    if "GPUC_SHARED" not in os.environ:
        pytest.skip("GPUC_SHARED is not set: upstream's CRDs and charts are not at hand")
    upstream = Path(os.environ["GPUC_SHARED"]) / "upstream"
    kinds = {kind for kind in schemas.custom_kinds() if kind not in WITHOUT_REFERENCE}
    texts = derived(upstream / "crds", upstream / "charts", kinds)
    known = {file for file in committed("crds/*/*.json", "charts/*.json") if "cilium.io" not in file}
    assert set(texts) == known
    assert [file for file, text in texts.items() if committed(file)[file] != text] == []


def test_a_kind_and_a_chart_without_a_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match=r"no CustomResourceDefinition below .* for karpenter\.sh/v1 NodePool"):
        custom_tables(tmp_path, [("karpenter.sh/v1", "NodePool")])


def test_table_of_core_kinds_is_fresh() -> None:
    if importlib.util.find_spec("kubernetes_validate") is None:
        pytest.skip("kubernetes-validate is not installed: it is a tool of the tables' maintainers")
    assert derived_builtins() == committed("kubernetes*.json")


def test_tables_are_compact_and_without_prose_or_expressions() -> None:
    texts = committed("**/*.json")
    upstream = {file: text for file, text in texts.items() if file.startswith(("crds/", "charts/"))}
    assert [file for file, text in upstream.items() if "x-kubernetes-validations" in text] == []
    assert [file for file, text in upstream.items() if '"description":"' in text] == []


@pytest.mark.parametrize(
    ("api", "kind", "namespaced"),
    [
        ("karpenter.sh/v1", "NodePool", False),
        ("kueue.x-k8s.io/v1beta2", "LocalQueue", True),
        ("kueue.x-k8s.io/v1beta2", "ClusterQueue", False),
        ("argoproj.io/v1alpha1", "Application", True),
        ("v1", "Namespace", False),
        ("rbac.authorization.k8s.io/v1", "Role", True),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", False),
        ("apps/v1", "StatefulSet", True),
        ("storage.k8s.io/v1", "StorageClass", False),
    ],
)
def test_a_table_knows_whether_its_kind_is_namespaced(api: str, kind: str, namespaced: bool) -> None:
    known = schemas.table(api, kind, "1.35")
    assert known is not None
    assert known.namespaced is namespaced


def test_an_unknown_kubernetes_version_has_no_core_kinds() -> None:
    assert schemas.table("v1", "Namespace", "1.12") is None
    assert schemas.builtin_kinds("1.12") == []


def test_a_kind_has_the_fields_of_the_kubernetes_version() -> None:
    sizes = {len(str(schemas.table("v1", "Pod", version))) for version in ("1.33", "1.36")}
    assert len(sizes) == 2
