"""The state before: revisions, folders, shallow clones, links and names that look like options."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpuc.diagnostics.usage import UsageError
from gpuc.plan.revision import revision_name, revision_root
from tests.plan.repository import Fleet, fleet


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_files_are_those_of_the_revision(tmp_path: Path) -> None:
    repository = fleet(tmp_path / "fleet")
    committed = {name: data for name, data in files_of(repository.root).items() if not name.startswith(".git/")}
    repository.replace("nodes: {max: 16}", "nodes: {max: 20}")
    (repository.root / "out/prod-use1/gpuc.lock").unlink()
    with revision_root(repository.root, "HEAD") as folder:
        assert files_of(folder) == committed
    assert not folder.exists()


def test_a_fleet_in_a_subfolder_is_read_from_the_subfolder(tmp_path: Path) -> None:
    repository = fleet(tmp_path / "fleet")
    (repository.root / "infra").mkdir()
    for name in ("specs", "out", "clusters"):
        (repository.root / name).rename(repository.root / "infra" / name)
    repository.commit()
    with revision_root(repository.root / "infra", "HEAD") as folder:
        assert (folder / "specs/prod-use1.yaml").is_file()
        assert not (folder / "infra").exists()


def test_links_of_a_revision_are_not_copied(tmp_path: Path) -> None:
    repository = fleet(tmp_path / "fleet")
    (repository.root / "specs/passwd.yaml").symlink_to("/etc/passwd")
    repository.commit()
    with revision_root(repository.root, "HEAD") as folder:
        assert not os.path.lexists(folder / "specs/passwd.yaml")


def test_the_default_is_the_merge_base_with_the_default_branch_of_origin(tmp_path: Path) -> None:
    origin = fleet(tmp_path / "origin")
    base = origin.git("rev-parse", "HEAD")
    origin.git("clone", "--quiet", str(origin.root), str(tmp_path / "clone"))
    origin.replace("nodes: {max: 16}", "nodes: {max: 18}")
    origin.commit("A change of another person")
    clone = Fleet(tmp_path / "clone")
    clone.git("fetch", "--quiet")
    clone.git("checkout", "--quiet", "-b", "mine")
    clone.replace("nodes: {max: 16}", "nodes: {max: 20}")
    clone.commit("My change")
    assert revision_name(clone.root, None) == f"{base[:12]} (the merge base with origin/main)"
    with revision_root(clone.root, None) as folder:
        assert "nodes: {max: 16}" in (folder / "specs/prod-use1.yaml").read_text()


def test_a_shallow_clone_without_the_revision_says_how_to_fetch_the_history(tmp_path: Path) -> None:
    origin = fleet(tmp_path / "origin")
    first = origin.git("rev-parse", "HEAD")
    origin.commit("Second")
    origin.git("checkout", "--quiet", "-b", "mine", first)
    origin.commit("Mine")
    origin.git("checkout", "--quiet", "main")
    options = ("--quiet", "--depth", "1", "--no-single-branch")
    origin.git("clone", *options, "--branch", "mine", f"file://{origin.root}", str(tmp_path / "clone"))
    for against in (None, first):
        with (
            pytest.raises(UsageError, match=r"the clone is shallow.*git fetch --unshallow.*fetch-depth: 0"),
            revision_root(tmp_path / "clone", against),
        ):
            pass


@pytest.mark.parametrize("revision", ["no-such-branch", "--output=/tmp/x", "HEAD:specs", ""])
def test_what_is_no_revision_is_a_usage_error(revision: str, tmp_path: Path) -> None:
    repository = fleet(tmp_path / "fleet")
    with (
        pytest.raises(UsageError, match="is neither a folder nor a revision of this Git repository"),
        revision_root(repository.root, revision),
    ):
        pass


def test_a_folder_is_used_as_it_is(tmp_path: Path) -> None:
    repository = fleet(tmp_path / "fleet")
    with revision_root(tmp_path, str(repository.root)) as folder:
        assert folder == repository.root
    (tmp_path / "empty").mkdir()
    with (
        pytest.raises(UsageError, match=r"has no specs/ and no out/"),
        revision_root(tmp_path, str(tmp_path / "empty")),
    ):
        pass


def test_a_folder_without_git_needs_against(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    with pytest.raises(UsageError, match="is not in a Git repository"), revision_root(tmp_path, None):
        pass


@pytest.mark.parametrize("name", ["specs/prod-use1.yaml", "specs"])
def test_a_clone_without_a_file_of_the_revision_is_a_usage_error(name: str, tmp_path: Path) -> None:
    repository = fleet(tmp_path / "fleet")
    missing = repository.git("rev-parse", f"HEAD:{name}")
    (repository.root / f".git/objects/{missing[:2]}/{missing[2:]}").unlink()
    with (
        pytest.raises(UsageError, match="the clone does not have all files of"),
        revision_root(repository.root, "HEAD"),
    ):
        pass
