"""`gpuc fix` as users run it: files, messages and exit codes."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuc.cli.main import main
from gpuc.write import filesystem
from tests.conftest import CUSTOM, HUB, MACHINES, ROOT

LAYER = "apiVersion: gpuc.dev/v1alpha1\nkind: Layer\nspec:\n  cloud: {aws: {networkPolicyEngine: cilium}}\n"
PROD = (
    "apiVersion: gpuc.dev/v1alpha1\nkind: Cluster\nmetadata: {name: prod}\nextends: [base/eks.yaml]\n"
    "spec:\n  pools:\n    a:\n      zones: [x]   # why\n      nodes: {max: 1}\n      image: i\n"
)
NEW_LAYER = LAYER.replace("cloud: {aws: {networkPolicyEngine: cilium}}", "network: {policyEngine: cilium}")
NEW_PROD = PROD.replace(
    "      zones: [x]   # why\n      nodes: {max: 1}\n      image: i\n",
    "      eks:\n        zones: [x]   # why\n        image: i\n      nodes: {max: 1}\n",
)


@pytest.fixture
def fleet(empty_fleet: Path) -> Path:
    (empty_fleet / "specs/base").mkdir(parents=True)
    for file, text in (("base/eks", LAYER), ("prod", PROD), ("dev", PROD.replace("prod", "dev"))):
        (empty_fleet / f"specs/{file}.yaml").write_text(text)
    return empty_fleet


def texts(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_all_specs_and_their_layers_change_once(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix"]) == 0
    assert capsys.readouterr().out == (
        "specs/base/eks.yaml: 1 field moved\nspecs/dev.yaml: 2 fields moved\nspecs/prod.yaml: 2 fields moved\n"
        "3 files: 3 changed with 5 fields moved\n"
    )
    assert (fleet / "specs/base/eks.yaml").read_text() == NEW_LAYER
    assert (fleet / "specs/prod.yaml").read_text() == NEW_PROD
    after = texts(fleet)
    assert len(after) == 3
    assert main(["fix"]) == 0
    assert capsys.readouterr().out == "3 files: all fields are at their new places\n"
    assert texts(fleet) == after


def test_a_layer_is_a_spec_too(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "specs/base/eks.yaml"]) == 0
    assert capsys.readouterr().out == ("specs/base/eks.yaml: 1 field moved\n1 file: 1 changed with 1 field moved\n")
    assert (fleet / "specs/base/eks.yaml").read_text() == NEW_LAYER
    assert (fleet / "specs/prod.yaml").read_text() == PROD
    assert main(["fix", "prod"]) == 0
    assert (fleet / "specs/prod.yaml").read_text() == NEW_PROD
    assert "dev" not in capsys.readouterr().out


def test_the_encoding_and_the_permissions_stay(fleet: Path) -> None:
    path = fleet / "specs/prod.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + PROD.removesuffix("\n").replace("\n", "\r\n").encode())
    path.chmod(0o640)
    assert main(["fix", "prod"]) == 0
    assert path.read_bytes() == b"\xef\xbb\xbf" + NEW_PROD.removesuffix("\n").replace("\n", "\r\n").encode()
    assert path.stat().st_mode & 0o777 == 0o640


def test_other_files_change_if_one_has_errors(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (fleet / "specs/prod.yaml").write_text(f"{PROD}x: [\n")
    assert main(["fix"]) == 1
    out = capsys.readouterr().out
    assert "specs/prod.yaml:11:4  error YAML001  the bracket [ is not closed" in out
    assert out.endswith("\n3 files: 2 changed with 3 fields moved, 1 with errors\n")
    assert (fleet / "specs/prod.yaml").read_text() == f"{PROD}x: [\n"
    assert (fleet / "specs/base/eks.yaml").read_text() == NEW_LAYER


def test_a_field_at_both_places_is_an_error(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"{PROD}      eks: {{zones: [z]}}\n"
    (fleet / "specs/prod.yaml").write_text(text)
    assert main(["fix", "prod"]) == 1
    out = capsys.readouterr().out
    assert "specs/prod.yaml: 1 field moved\n" in out
    assert "specs/prod.yaml:8:7  error SPC009" in out
    assert "zones: [x]   # why" in out
    assert main(["fix", "prod"]) == 1
    assert capsys.readouterr().out.endswith("2 files: none changed, 1 with errors\n")


def test_a_layout_that_gpuc_cannot_keep_is_named(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = PROD.replace("zones: [x]   # why", "zones: [x]\n      labels: &l {a: b}\n      tags: *l")
    (fleet / "specs/prod.yaml").write_text(text)
    assert main(["fix", "specs/prod.yaml"]) == 1
    assert capsys.readouterr().out == (
        "specs/base/eks.yaml: 1 field moved\n"
        "specs/prod.yaml was left alone: gpuc cannot keep its layout; move pools.a.zones, pools.a.tags, pools.a.image "
        "by hand\n2 files: 1 changed with 1 field moved, 1 left alone\n"
    )
    assert (fleet / "specs/prod.yaml").read_text() == text


def test_links_are_left_alone(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (fleet / "specs/base/eks.yaml").rename(fleet / "specs/base/other.yaml")
    (fleet / "specs/base/eks.yaml").symlink_to("other.yaml")
    outside = fleet.parent / "outside.yaml"
    outside.write_text(PROD)
    (fleet / "specs/out.yaml").symlink_to(outside)
    assert main(["fix"]) == 1
    out = capsys.readouterr().out
    assert "specs/base/eks.yaml was left alone: the file is a link" in out
    assert "error LAY002  specs/out.yaml is outside of specs/" in out
    assert (fleet / "specs/base/other.yaml").read_text() == LAYER
    assert outside.read_text() == PROD


def during(monkeypatch: pytest.MonkeyPatch, verb: str, action: Callable[[], object]) -> None:
    """Runs an action before each change of the file system of a kind."""
    monkeypatch.setattr(filesystem, "before_change", lambda change, path: action() if change == verb else None)


def test_a_change_at_the_same_time_is_kept(
    fleet: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = fleet / "specs/prod.yaml"
    (fleet / "specs/base/eks.yaml").write_text(NEW_LAYER)
    during(monkeypatch, "chmod", lambda: path.write_text(f"{PROD}# new\n"))
    assert main(["fix", "specs/prod.yaml"]) == 1
    assert "specs/prod.yaml was left alone: the file was changed at the same time" in capsys.readouterr().out
    assert path.read_text() == f"{PROD}# new\n"
    assert len(texts(fleet)) == 3


@pytest.mark.parametrize("verb", ["create", "write", "chmod", "fsync", "rename"])
def test_a_full_disk_changes_no_file(
    verb: str, fleet: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OSError(28, os.strerror(28))

    before = texts(fleet)
    during(monkeypatch, verb, refuse)
    assert main(["fix"]) == 1
    message = "specs/prod.yaml was left alone: the file cannot be written: No space left on device"
    assert message in capsys.readouterr().out
    assert texts(fleet) == before


@pytest.mark.parametrize("source", [ROOT, CUSTOM, HUB, MACHINES], ids=["root", "custom", "hub", "machines"])
def test_the_example_fleets(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(source / "specs", tmp_path / "specs")
    monkeypatch.chdir(tmp_path)
    assert main(["fix"]) == 0
    capsys.readouterr()
    assert main(["fix"]) == 0
    assert "all fields are at their new places" in capsys.readouterr().out
