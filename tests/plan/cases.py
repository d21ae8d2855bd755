"""Case files of impacts: the first spec is the state before, each other spec a state after."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from gpuc.catalog import load
from gpuc.extra.files import read_files
from gpuc.lint.load.load_objects import load_objects
from gpuc.pipeline.fleet_policies import FleetPolicies, fleet_policies
from gpuc.pipeline.stages import CompiledSpec, compile_source
from gpuc.plan.change import Change
from gpuc.plan.impact import Impact
from gpuc.plan.planner import plan_cluster
from gpuc.plan.state import State, no_state, state_after
from gpuc.source import read

ROOT = Path(__file__).parents[2]
FILES = (ROOT / "compiler/gpuc").glob("**/impacts/**/*.yaml")
CASES = sorted(FILES, key=lambda file: f"{file.parent.name}/{file.stem}")
HEAD = "apiVersion: gpuc.dev/v1alpha1\nkind: Cluster\nmetadata: {name: case}\n"
WORKLOADS = "# Workloads."
"""The first line of a document with an object that runs in the cluster."""
MANIFESTS = "# Manifests of the state before."
"""The first line of a document with an object that a user wrote. A state after lacks the object, unless the first line
of the state ends with "stays."."""
KEPT = "# Manifests of both states."
MOVED = "moves to the platform.\n"
"""The end of the first line of a state after in which the manifest of the state before belongs to the platform."""
REMOVED = "# The cluster is removed."
ABSENT = "# The cluster does not exist before."
_ENDS_WITH_MARK = re.compile(r" *#! \w+$", re.MULTILINE)
MARK = re.compile(r"#! (\w+)$", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """One change of a case file."""

    name: str
    before: str
    after: str
    workloads: str = ""
    """The objects that run in the cluster; empty for none."""
    manifests: str = ""
    """The manifest of a user in the state before; empty for none."""
    kept: str = ""
    """The manifest of a user in both states; empty for none."""

    @property
    def marks(self) -> list[tuple[bool, int, str]]:
        """Whether the line is in the state before, its number and the id of the impact, sorted."""
        return sorted(
            (text is not self.after and MOVED not in self.after, number, mark[1])
            for text in (self.before, self.after, self.manifests)
            for number, line in enumerate(text.splitlines(), 1)
            if (mark := MARK.search(line))
        )


def cases() -> list[Case]:
    """All changes of all case files. A mark in the first spec belongs to the change that its comment `#N` names."""
    found = []
    for file in CASES:
        texts = re.split(r"^---\n", file.read_text(), flags=re.MULTILINE)
        workloads, manifests, kept = (
            "---\n".join(text for text in texts if text.startswith(start)) for start in (WORKLOADS, MANIFESTS, KEPT)
        )
        before, *afters = [HEAD + text for text in texts if not text.startswith((WORKLOADS, MANIFESTS, KEPT))]
        for number, after in enumerate(afters, 1):
            name = f"{file.parent.name}/{file.stem}-{number}"
            found.append(Case(name, of_change(before, number), after, workloads, of_change(manifests, number), kept))
    return found


def of_change(before: str, number: int) -> str:
    """The state before, with the marks of one change: `#2! ID` marks a line for the second state after."""
    text = re.sub(rf"#{number}! ", "#! ", before)
    return re.sub(r" *#\d+! \w+$", "", text, flags=re.MULTILINE)


def compiled(folder: Path, text: str, manifests: Mapping[str, str] = MappingProxyType({})) -> CompiledSpec:
    """The spec of a case, compiled in memory, with manifests of users by the path in the folder of manifests."""
    (folder / "specs").mkdir(parents=True)
    for file in sorted((ROOT / "compiler/gpuc/rules/archetypes").glob("*.yaml")):
        (folder / "specs" / file.name).write_text(file.read_text())
    (folder / "specs/case.yaml").write_text(text)
    for name, manifest in manifests.items():
        if manifest:
            (folder / "specs/case/manifests" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "specs/case/manifests" / name).write_text(manifest)
    policies: FleetPolicies = fleet_policies(folder)
    files = read_files(folder, "specs/case.yaml")
    return compile_source(read(folder, "specs/case.yaml"), policies, files=files, catalog=load())


NOTHING: Mapping[str, str] = MappingProxyType({})


def change_between(
    folder: Path, before: str, after: str, old: Mapping[str, str] = NOTHING, new: Mapping[str, str] = NOTHING
) -> Change:
    """The change between two specs without their heads, each with the manifests of users."""
    states = (("before", before, old), ("after", after, new))
    return Change(*(state_after(compiled(folder / name, HEAD + text, files)) for name, text, files in states))


@lru_cache(maxsize=4)
def state_before(text: str, manifests: tuple[tuple[str, str], ...]) -> State:
    """The state before of the cases of a file, which differ only in the marks."""
    with TemporaryDirectory() as folder:
        return state_after(compiled(Path(folder), text, dict(manifests)))


def change_of(folder: Path, case: Case) -> Change:
    """The change of a case."""
    before = no_state("case")
    if ABSENT not in case.before:
        texts = [_ENDS_WITH_MARK.sub("", text) for text in (case.before, case.manifests, case.kept)]
        before = state_before(texts[0], (("red/0.yaml", texts[1]), ("red/1.yaml", texts[2])))
    if REMOVED in case.after:
        return Change(before, no_state("case"))
    manifest = case.manifests if "stays.\n" in case.after or MOVED in case.after else ""
    place = "0.yaml" if MOVED in case.after else "red/0.yaml"
    after = state_after(compiled(folder / "after", case.after, {place: manifest, "red/1.yaml": case.kept}))
    if not case.workloads:
        return Change(before, after)
    (folder / "workloads.yaml").write_text(case.workloads)
    return Change(before, after, tuple(load_objects([str(folder / "workloads.yaml")]).manifests))


def impacts_of(folder: Path, case: Case) -> list[Impact]:
    """The impacts of a case."""
    return list(plan_cluster(change_of(folder, case)).impacts)
