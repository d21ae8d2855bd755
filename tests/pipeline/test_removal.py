"""A removal takes two commits: gpuc.lock lists the elements of the output and those that were leaving."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuc.diagnostics.finding import Finding
from gpuc.diagnostics.report.result import Report
from gpuc.pipeline.pipeline import check_specs, compile_specs
from gpuc.pipeline.stages import compiled_spec
from tests.conftest import ROOT

NAME = "infer-euw1"
INDEX = f"out/{NAME}/gpuc.lock"
Edit = Callable[[dict[str, Any]], object]


class Fleet:
    """A fleet with one cluster: its spec as data, and the commands that users run between two commits."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.spec_file = root / f"specs/{NAME}.yaml"
        self.spec_file.parent.mkdir()
        (root / "specs/base").mkdir()
        (root / "specs/base/eks.yaml").write_text((ROOT / "specs/base/eks.yaml").read_text())
        self.spec_file.write_text((ROOT / f"specs/{NAME}.yaml").read_text())
        self.edit(queue_comes)

    def edit(self, *edits: Edit) -> None:
        whole = yaml.safe_load(self.spec_file.read_text())
        for edit in edits:
            edit(whole["spec"])
        self.spec_file.write_text(yaml.safe_dump(whole, sort_keys=False))

    def compile(self, into: Path | None = None) -> Report:
        return compile_specs(self.root, None, into or self.root, lambda step: None)

    def check(self, fresh: bool = False) -> tuple[Finding, ...]:
        return check_specs(self.root, None, self.root, fresh, lambda step: None).findings

    def index(self) -> dict[str, Any]:
        return json.loads((self.root / INDEX).read_text())

    def lines(self) -> list[str]:
        return self.spec_file.read_text().splitlines()


@pytest.fixture
def fleet(empty_fleet: Path) -> Fleet:
    return Fleet(empty_fleet)


@pytest.fixture(scope="module")
def first_output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    fleet = Fleet(tmp_path_factory.mktemp("fleet"))
    assert fleet.compile().findings == ()
    return fleet.root


@pytest.fixture
def compiled(fleet: Fleet, first_output: Path) -> Fleet:
    shutil.copytree(first_output, fleet.root, dirs_exist_ok=True)
    return fleet


def pool_goes(spec: dict[str, Any]) -> None:
    del spec["pools"]["embed-l4"], spec["tenants"]["retrieval"]["namespaces"]["retrieval"]["quota"]


def queue_comes(spec: dict[str, Any]) -> None:
    spec["queues"]["retrieval"]["quota"]["web"]["nodes"] = 2
    spec["queues"]["index"] = {"tenants": ["retrieval"], "quota": {"web": {"nodes": 1}}}


def queue_goes(spec: dict[str, Any]) -> None:
    del spec["queues"]["index"]
    spec["queues"]["retrieval"]["quota"]["web"]["nodes"] = 3


def namespace_goes(spec: dict[str, Any]) -> None:
    del spec["tenants"]["assistants"]["namespaces"]["assistants-lab"]


def tenant_goes(spec: dict[str, Any]) -> None:
    del spec["tenants"]["retrieval"]
    for queue in ("retrieval", "index"):
        spec["queues"][queue]["tenants"] = ["assistants"]
    embeddings = {"podSecurity": "restricted", "queues": [], "quota": {"embed-l4": {"shares": 48}}}
    spec["tenants"]["assistants"]["namespaces"]["embeddings"] = embeddings


def leaves(*path: str) -> Edit:
    """Marks the element at a path as leaving."""

    def edit(spec: dict[str, Any]) -> None:
        element = spec
        for step in path:
            element = element[step]
        element["leaving"] = True

    return edit


CASES = {
    "pools": (leaves("pools", "embed-l4"), pool_goes, "embed-l4", "node pool", "  pools:"),
    "queues": (leaves("queues", "index"), queue_goes, "index", "queue", "  queues:"),
    "namespaces": (
        leaves("tenants", "assistants", "namespaces", "assistants-lab"), namespace_goes, "assistants-lab", "namespace",
        "      namespaces:",
    ),
    "tenants": (leaves("tenants", "retrieval"), tenant_goes, "retrieval", "tenant", "  tenants:"),
}  # fmt: skip
"""By section: how the test marks and removes an element, its name, its kind, and the line of the section."""
each_section = pytest.mark.parametrize("section", CASES)


@pytest.mark.share(2)
@each_section
def test_one_commit_is_refused_at_the_section(section: str, compiled: Fleet) -> None:
    _, goes, name, what, line = CASES[section]
    before = (compiled.root / INDEX).read_bytes()
    compiled.edit(goes)
    for findings in (compiled.compile().findings, compiled.check(), compiled.check(fresh=True)):
        (found,) = [finding for finding in findings if finding.is_error]
        assert found.id == "REM001"
        assert found.message == f"{what} {name} was removed without leaving: true in an earlier commit"
        assert f"removed: {{{section}: {{{name}: " in found.fix
        assert found.mark is not None and compiled.lines()[found.mark.line - 1] == line
        assert found.mark.column == len(line) - len(line.lstrip()) + 1
    assert (compiled.root / INDEX).read_bytes() == before, "nothing is written"


@pytest.mark.slow
@each_section
def test_two_commits_are_clean(section: str, compiled: Fleet) -> None:
    marks, goes, name, _, _ = CASES[section]
    compiled.edit(marks)
    assert not any(finding.is_error for finding in compiled.compile().findings)
    assert f"{section}/{name}" in compiled.index()["leaving"]
    compiled.edit(goes)
    assert compiled.compile().findings == ()
    assert compiled.check(fresh=True) == ()
    assert "leaving" not in compiled.index() and "removed" not in compiled.index()


@pytest.mark.slow
@each_section
def test_a_reason_replaces_the_first_commit_and_may_stay(section: str, compiled: Fleet) -> None:
    _, goes, name, _, _ = CASES[section]
    compiled.edit(goes, lambda spec: spec.update(removed={section: {name: "it never ran anything"}}))
    assert compiled.check() == ()
    assert compiled.compile().findings == ()
    assert compiled.index()["removed"] == [f"{section}/{name}"]
    assert compiled.check(fresh=True) == ()
    assert compiled.compile().written == ()
    compiled.edit(lambda spec: spec.pop("removed"))
    assert compiled.compile().findings == ()
    assert compiled.check(fresh=True) == ()


def test_a_namespace_goes_with_its_tenant(compiled: Fleet) -> None:
    """The removal of a tenant includes its namespaces. A namespace that moves to another tenant is not removed."""
    compiled.edit(tenant_goes)
    assert [finding.id for finding in compiled.check()] == ["REM001"]
    compiled.edit(
        lambda spec: spec["tenants"]["assistants"]["namespaces"].update(retrieval={"podSecurity": "restricted"}),
        lambda spec: spec.update(removed={"tenants": {"retrieval": "one team now"}}),
    )
    assert compiled.check() == ()


def test_a_rename_is_named_as_one(compiled: Fleet) -> None:
    def renamed(spec: dict[str, Any]) -> None:
        spec["pools"]["vectors"] = spec["pools"].pop("embed-l4")
        quota = spec["tenants"]["retrieval"]["namespaces"]["retrieval"]["quota"]
        quota["vectors"] = quota.pop("embed-l4")
        spec["tenants"]["search"] = spec["tenants"].pop("retrieval")
        for queue in ("retrieval", "index"):
            spec["queues"][queue]["tenants"] = ["search"]

    compiled.edit(renamed)
    assert [finding.message for finding in compiled.check()] == [
        "node pool embed-l4 was renamed to vectors: a rename is a removal and an addition",
        "tenant retrieval was renamed to search: a rename is a removal and an addition",
    ]


def test_of_several_that_came_the_nearest_is_the_new_name(compiled: Fleet) -> None:
    def renamed(spec: dict[str, Any]) -> None:
        pools, quota = spec["pools"], spec["queues"]["retrieval"]["quota"]
        pools["embed-l4s"] = pools.pop("embed-l4")
        own = spec["tenants"]["retrieval"]["namespaces"]["retrieval"]["quota"]
        own["embed-l4s"] = own.pop("embed-l4")
        pools["cpus"] = dict(pools["web"])
        quota["cpus"] = {"nodes": 6}

    compiled.edit(renamed)
    (found,) = [finding for finding in compiled.check() if finding.is_error]
    assert found.message.startswith("node pool embed-l4 was renamed to embed-l4s")


@pytest.mark.slow
def test_a_reason_for_what_never_was_is_a_warning_until_the_next_compile(compiled: Fleet) -> None:
    compiled.edit(pool_goes, lambda spec: spec.update(removed={"pools": {"embed-14": "renamed"}}))
    error, warning = compiled.check()
    assert (error.id, warning.id, warning.fix) == ("REM001", "REM002", "write embed-l4")
    assert warning.mark is not None and compiled.lines()[warning.mark.line - 1].strip() == "embed-14: renamed"
    compiled.edit(lambda spec: spec["removed"]["pools"].update({"embed-l4": "renamed"}))
    assert [finding.id for finding in compiled.compile().findings] == ["REM002"]
    assert compiled.check(fresh=True) == ()


@pytest.mark.share(2)
@pytest.mark.parametrize("prune", ["never", "automatic"])
def test_only_confirm_asks(prune: str, compiled: Fleet) -> None:
    compiled.edit(pool_goes, lambda spec: spec.update(delivery={"prune": prune}))
    assert compiled.check() == ()
    assert compiled.compile().findings == ()


def test_without_output_there_is_nothing_to_remove(fleet: Fleet) -> None:
    fleet.edit(pool_goes, lambda spec: spec.update(removed={"pools": {"embed-l4": "renamed"}}))
    assert fleet.check() == ()
    assert fleet.compile().findings == ()


@pytest.mark.slow
def test_the_index_of_the_folder_that_is_written_counts(compiled: Fleet, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    compiled.compile(tmp_path / "elsewhere")
    compiled.edit(pool_goes, lambda spec: spec.update(removed={"pools": {"embed-l4": "renamed"}}))
    assert compiled.compile().findings == ()
    compiled.edit(lambda spec: spec.pop("removed"))
    assert compiled.compile().findings == ()
    assert [finding.id for finding in compiled.compile(tmp_path / "elsewhere").findings] == ["REM001"]


@pytest.mark.slow
def test_a_damaged_index_is_the_writers_finding(compiled: Fleet) -> None:
    (compiled.root / INDEX).write_text('{"cdk8s": "", "gpuc": "", "files": {}, "leaving": ["pools"]}')
    compiled.edit(pool_goes)
    assert compiled.check() == ()
    assert [finding.id for finding in compiled.compile().findings] == ["WRT003"]


@pytest.mark.slow
def test_a_revert_restores_the_output(compiled: Fleet) -> None:
    first = (compiled.root / INDEX).read_text()
    compiled.edit(leaves("pools", "embed-l4"))
    compiled.compile()
    compiled.edit(lambda spec: spec["pools"]["embed-l4"].pop("leaving"))
    assert compiled.compile().findings == ()
    assert (compiled.root / INDEX).read_text() == first


def test_a_rehearsal_plays_what_leaves_as_though_it_stayed(compiled: Fleet) -> None:
    """Scenes expect work on every pool and in every queue."""
    file = f"specs/{NAME}.yaml"
    before = compiled_spec(compiled.root, file, for_rehearsal=True)
    assert before.staying == ()
    compiled.edit(*(marks for marks, *_ in CASES.values()))
    after = compiled_spec(compiled.root, file, for_rehearsal=True)
    assert set(after.staying) == {
        "pools/embed-l4", "queues/index", "tenants/assistants/namespaces/assistants-lab", "tenants/retrieval",
    }  # fmt: skip
    assert after.artifacts == before.artifacts
    assert compiled_spec(compiled.root, file).artifacts != before.artifacts


def test_a_rehearsal_has_the_components_in_their_usual_namespaces(compiled: Fleet) -> None:
    file = f"specs/{NAME}.yaml"
    before = compiled_spec(compiled.root, file, for_rehearsal=True)
    assert before.moved == ()
    compiled.edit(lambda spec: spec.update(components={"kueue": {"namespace": "queueing"}}))
    after = compiled_spec(compiled.root, file, for_rehearsal=True)
    assert after.moved == ("kueue",)
    assert after.artifacts == before.artifacts
    assert compiled_spec(compiled.root, file).artifacts != before.artifacts
