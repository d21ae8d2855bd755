"""The committed schema tables equal what upstream files give, and have facts about the kinds."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from gpuc.catalog import schemas
from gpuc.emit.component import components
from gpuc.parts.folders import component_folder
from tests.derive.__main__ import charts_at_hand, derived_builtins, derived_charts, derived_kinds, main
from tests.derive.crds import custom_tables

FOLDER = Path(schemas.__file__).parent
WITHOUT_REFERENCE = [("cilium.io/v2", "CiliumNetworkPolicy")]
"""Kinds whose CRD is not among the reference data. Source of the table: cilium/cilium v1.20.2."""


def committed(*patterns: str) -> dict[Path, str]:
    """Returns the text of the committed tables whose paths below the package match a pattern, by file."""
    files = (path for pattern in patterns for path in FOLDER.parents[1].glob(pattern))
    return {path: path.read_text(encoding="utf-8") for path in files}


@pytest.mark.slow
def test_tables_of_crds_and_charts_are_fresh() -> None:
    if "GPUC_SHARED" not in os.environ:
        pytest.skip("GPUC_SHARED is not set: upstream's CRDs and charts are not at hand")
    upstream = Path(os.environ["GPUC_SHARED"]) / "upstream"
    kinds = {kind for kind in schemas.custom_kinds() if kind not in WITHOUT_REFERENCE}
    at_hand = charts_at_hand(upstream / "charts")
    texts = {**derived_kinds(upstream / "crds", kinds), **derived_charts(upstream / "charts", at_hand)}
    known = committed(
        "catalog/schemas/crds/*/*.json", f"components/*/{schemas.VALUES}", f"substrates/*/*/{schemas.VALUES}"
    )
    left_out = {component_folder(component.name) / schemas.VALUES for component in components()}
    left_out -= {component_folder(name) / schemas.VALUES for name in at_hand}
    assert {*texts} == {file for file in known if "cilium.io" not in file.parts} - left_out
    assert [file for file, text in texts.items() if known[file] != text] == []


def test_the_tables_of_the_named_kinds_need_only_their_crds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["derive", "--crds", str(tmp_path), "--kind", "karpenter.sh/v1", "NodePool"]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().err.endswith(f"below {tmp_path} for karpenter.sh/v1 NodePool\n")


def test_a_kind_without_a_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match=r"no CustomResourceDefinition below .* for karpenter\.sh/v1 NodePool"):
        custom_tables(tmp_path, [("karpenter.sh/v1", "NodePool")])


@pytest.mark.slow
def test_table_of_core_kinds_is_fresh() -> None:
    if importlib.util.find_spec("kubernetes_validate") is None:
        pytest.skip("kubernetes-validate is not installed: it is a tool of the tables' maintainers")
    assert derived_builtins() == committed("catalog/schemas/kubernetes*.json")


def test_tables_are_compact_and_without_prose_or_expressions() -> None:
    texts = committed(
        "catalog/schemas/crds/*/*.json", f"components/*/{schemas.VALUES}", f"substrates/*/*/{schemas.VALUES}"
    )
    assert [file for file, text in texts.items() if "x-kubernetes-validations" in text] == []
    assert [file for file, text in texts.items() if '"description":"' in text] == []


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
