"""The fleet in Git: the pushed commits, and the unchanged files."""

import shutil
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from gpuc.cluster.application import source_in
from gpuc.manifest.manifest import Manifest
from gpuc_rehearsal.argocd.repository import FleetRepository, RepositoryError, fleet_repository
from gpuc_rehearsal.substrates.eks.karpenter import simulated_text
from tests.conftest import ROOT

URL = "https://git.example.com/platform/gpu-fleet.git"
SOURCE = source_in(
    Manifest("", (), "argoproj.io/v1alpha1", "Application", "a", {}),
    (),
    {"repoURL": URL, "targetRevision": "main", "path": "out/prod-use1/apps"},
)
GIT = Path(str(shutil.which("git")))


def served(repository: FleetRepository, *words: str) -> str:
    command = [str(GIT), "--git-dir", str(repository.bare), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def repository(tmp_path: Path) -> FleetRepository:
    made = fleet_repository(GIT, tmp_path, ROOT, SOURCE, "out", lambda chart: chart.chart != "gpu-operator")
    made.commit("first")
    return made


def test_the_bare_repository_lies_where_its_address_says(repository: FleetRepository, tmp_path: Path) -> None:
    assert repository.bare == tmp_path / "git/git.example.com/platform/gpu-fleet.git"
    assert served(repository, "rev-parse", "--symbolic-full-name", "HEAD").strip() == "refs/heads/main"


def test_only_the_class_of_nodes_and_applications_without_a_chart_differ(repository: FleetRepository) -> None:
    served(repository, "--work-tree", str(repository.top), "add", "--all")
    changed = served(repository, "diff", "--cached", "--name-only", "main").split()
    dropped = [name for name in changed if "/apps/" in name]
    assert {name.rpartition("/")[2] for name in dropped} == {"gpu-operator.yaml", "gpu-operator-config.yaml"}
    assert all("/karpenter/pools/" in name for name in changed if name not in dropped)
    lines = served(repository, "diff", "--cached", "-U0", "main", "--", "out/prod-use1/karpenter").splitlines()
    changes = {line[1:].strip() for line in lines if line[0] in "+-" and not line.startswith(("+++", "---"))}
    names = ("group: karpenter.k8s.aws", "kind: EC2NodeClass", "group: karpenter.kwok.sh", "kind: KWOKNodeClass")
    assert changes == {*names}


def test_an_application_without_its_chart_is_named_with_the_reason(repository: FleetRepository) -> None:
    assert "chart gpu-operator v26.7.0" in repository.not_rendered["prod-use1-gpu-operator"]
    clusters = {name.partition("-gpu-")[0] for name in repository.not_rendered}
    assert clusters == {"prod-use1", "infer-euw1", "train-usw2"}


def test_what_needs_the_kinds_of_a_missing_chart_is_left_out_as_well(repository: FleetRepository) -> None:
    assert repository.not_rendered["prod-use1-gpu-operator-config"] == (
        "objects of the API group nvidia.com need chart gpu-operator, which is missing"
    )


def test_the_folder_stays_what_was_compiled(repository: FleetRepository) -> None:
    file = "out/prod-use1/karpenter/pools/general.yaml"
    assert (repository.root / file).read_bytes() == (ROOT / file).read_bytes()


@pytest.mark.slow
def test_a_second_commit_follows_the_first(repository: FleetRepository) -> None:
    (repository.root / "out/prod-use1/karpenter/pools/general.yaml").unlink()
    sha = repository.commit("a pool is removed")
    assert served(repository, "log", "--format=%s", "main").splitlines() == ["a pool is removed", "first"]
    assert served(repository, "rev-parse", "main").strip() == sha
    changed = served(repository, "diff", "--name-status", "main~", "main")
    assert changed == "D\tout/prod-use1/karpenter/pools/general.yaml\n"


def test_a_commit_without_a_change_is_refused(repository: FleetRepository) -> None:
    with pytest.raises(RepositoryError, match="nothing to commit for: again"):
        repository.commit("again")


def test_a_fleet_below_the_top_of_its_repository_stays_below_it(tmp_path: Path) -> None:
    made = fleet_repository(GIT, tmp_path, ROOT, SOURCE, "infra/fleet/out", lambda chart: True)
    assert made.root == tmp_path / "clone/infra/fleet"
    made.commit("first")
    assert "infra/fleet/specs/prod-use1.yaml" in served(made, "ls-tree", "-r", "--name-only", "main")


def test_git_by_ssh_is_refused(tmp_path: Path) -> None:
    source = replace(SOURCE, url="git@git.example.com:platform/gpu-fleet.git")
    with pytest.raises(RepositoryError, match="https only"):
        fleet_repository(GIT, tmp_path, ROOT, source, "out", lambda chart: True)


def test_a_file_without_pools_is_not_touched() -> None:
    text = "kind: EC2NodeClass\nspec:\n  group: karpenter.k8s.aws\n"
    assert simulated_text(text) == text
