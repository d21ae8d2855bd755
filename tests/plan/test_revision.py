"""The state before: revisions, folders, shallow clones, links and names that look like options."""

import os
from pathlib import Path

import pytest

from gpuc.diagnostics.usage import UsageError
from gpuc.plan.revision import revision_name, revision_root
from tests.plan.repository import Fleet, fleet


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_refused(message: str, folder: Path, against: str | None) -> None:
    with pytest.raises(UsageError, match=message), revision_root(folder, against):
        pass


@pytest.fixture
def repository(tmp_path: Path) -> Fleet:
    return fleet(tmp_path / "fleet")


def test_the_files_are_those_of_the_revision(repository: Fleet) -> None:
    committed = {name: data for name, data in files_of(repository.root).items() if not name.startswith(".git/")}
    repository.replace("nodes: {max: 16}", "nodes: {max: 20}")
    (repository.root / "out/prod-use1/gpuc.lock").unlink()
    with revision_root(repository.root, "HEAD") as folder:
        assert files_of(folder) == committed
    assert not folder.exists()


def test_a_fleet_in_a_subfolder_is_read_from_the_subfolder(repository: Fleet) -> None:
    (repository.root / "infra").mkdir()
    for name in ("specs", "out", "clusters"):
        (repository.root / name).rename(repository.root / "infra" / name)
    repository.commit()
    with revision_root(repository.root / "infra", "HEAD") as folder:
        assert (folder / "specs/prod-use1.yaml").is_file()
        assert not (folder / "infra").exists()


def test_links_of_a_revision_are_not_copied(repository: Fleet) -> None:
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
        assert_refused(r"the clone is shallow.*git fetch --unshallow.*fetch-depth: 0", tmp_path / "clone", against)


@pytest.mark.parametrize("revision", ["no-such-branch", "--output=/tmp/x", "HEAD:specs", ""])
def test_what_is_no_revision_is_a_usage_error(revision: str, repository: Fleet) -> None:
    assert_refused("is neither a folder nor a revision of this Git repository", repository.root, revision)


def test_a_folder_is_used_as_it_is(repository: Fleet, tmp_path: Path) -> None:
    with revision_root(tmp_path, str(repository.root)) as folder:
        assert folder == repository.root
    (tmp_path / "empty").mkdir()
    assert_refused(r"has no specs/ and no out/", tmp_path, str(tmp_path / "empty"))


def test_a_folder_without_git_needs_against(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    assert_refused("is not in a Git repository", tmp_path, None)


@pytest.mark.parametrize("name", ["specs/prod-use1.yaml", "specs"])
def test_a_clone_without_a_file_of_the_revision_is_a_usage_error(name: str, repository: Fleet) -> None:
    missing = repository.git("rev-parse", f"HEAD:{name}")
    (repository.root / f".git/objects/{missing[:2]}/{missing[2:]}").unlink()
    assert_refused("the clone does not have all files of", repository.root, "HEAD")
