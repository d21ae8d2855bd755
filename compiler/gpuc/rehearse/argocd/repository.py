"""The fleet in Git: a clone with the working copy, and the bare repository that Argo CD reads."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from gpuc.manifest.manifest import Body
from gpuc.rehearse.argocd.applications import CHART_GROUPS, ChartSource, GitSource, chart_of, git_sources
from gpuc.rehearse.substitute import SIMULATED_CLASS, SIMULATED_GROUP

_IDENTITY = {
    "GIT_AUTHOR_NAME": "gpuc",
    "GIT_AUTHOR_EMAIL": "gpuc@localhost",
    "GIT_COMMITTER_NAME": "gpuc",
    "GIT_COMMITTER_EMAIL": "gpuc@localhost",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
}
_NODE_CLASS = re.compile(r"(\n +nodeClassRef:\n +group: )karpenter\.k8s\.aws(\n +kind: )EC2NodeClass\n")
_GROUP = re.compile(r"^apiVersion: ([^/\s]+)/", re.MULTILINE)
_COPIED = ("specs", "out", "clusters", "policies")
"""Folders of a fleet that a compile reads or writes."""


class RepositoryError(Exception):
    """The fleet cannot be served. The message has the reason."""


@dataclass
class FleetRepository:
    """The files of the fleet, and the substituted files that are pushed."""

    git: Path
    clone: Path
    """The root folder of the clone."""
    root: Path
    """The fleet in the clone: specs/, out/, clusters/."""
    bare: Path
    """The repository that Argo CD reads."""
    branch: str
    has_chart: Callable[[ChartSource], bool]
    """Whether a chart is available."""
    not_rendered: dict[str, str] = field(default_factory=dict)
    """Applications of the last commit that are not in the served tree, with the reason."""

    def commit(self, message: str) -> str:
        """Commits all changes, pushes the substituted tree, and returns the pushed commit.

        Raises:
            RepositoryError: if nothing has changed.
        """
        self._run("add", "--all")
        if not self._run("status", "--porcelain"):
            raise RepositoryError(f"nothing to commit for: {message}")
        self._run("commit", "--quiet", "--message", message)
        return self._serve(message)

    def _serve(self, message: str) -> str:
        """Creates and pushes a separate commit of the tree with substitutions, which a separate index contains."""
        index = {"GIT_INDEX_FILE": str(self.clone.with_name(f"{self.clone.name}.index"))}
        self._run("read-tree", "HEAD", environment=index)
        self._substitute(index)
        tree = self._run("write-tree", environment=index)
        parent = self._run("for-each-ref", "--format=%(objectname)", "refs/gpuc/served")
        parents = ("-p", parent) if parent else ()
        served = self._run("commit-tree", tree, *parents, "-m", message)
        self._run("update-ref", "refs/gpuc/served", served)
        self._run("push", "--quiet", "--force", str(self.bare), f"{served}:refs/heads/{self.branch}")
        return served

    def _substitute(self, index: dict[str, str]) -> None:
        self.not_rendered.clear()
        for folder in sorted((self.root / "out").glob("*/apps")):
            for file, reason in self._left_out(folder).items():
                self._run("rm", "--cached", "--quiet", self._path_in_clone(file), environment=index)
                self.not_rendered[application_name(file)] = reason
        for file in sorted((self.root / "out").glob("*/karpenter/**/*.yaml")):
            text = file.read_text(encoding="utf-8")
            if (changed := simulated(text)) != text:
                blob = self._run("hash-object", "-w", "--stdin", content=changed)
                entry = f"100644,{blob},{self._path_in_clone(file)}"
                self._run("update-index", "--cacheinfo", entry, environment=index)

    def _left_out(self, folder: Path) -> dict[Path, str]:
        """Files of Applications that cannot be synced, with the reason. The root Application would wait for them."""
        found: dict[Path, str] = {}
        lost: dict[str, str] = {}
        entries = {file: spec for file in sorted(folder.glob("*.yaml")) if (spec := application_spec(file))}
        for file, spec in entries.items():
            chart = chart_of(spec)
            if chart and not self.has_chart(chart):
                missing = f"chart {chart.name} {chart.version} of {chart.repository}"
                found[file] = f"{missing} is missing; add its folder with --charts DIR"
                lost |= dict.fromkeys(CHART_GROUPS.get(chart.name, ()), chart.name)
        for file, spec in entries.items():
            for group in sorted(self._groups(spec) & lost.keys()):
                found.setdefault(file, f"its objects of {group} need chart {lost[group]}, which is missing")
        return found

    def _groups(self, spec: Body) -> set[str]:
        """The API groups of the objects in the Git folders of an Application."""
        files = (
            file for source in git_sources(spec) if source.path for file in (self.clone / source.path).rglob("*.yaml")
        )
        return {group for file in files for group in _GROUP.findall(file.read_text(encoding="utf-8"))}

    def _path_in_clone(self, file: Path) -> str:
        return file.relative_to(self.clone).as_posix()

    def _run(self, *arguments: str, environment: dict[str, str] | None = None, content: str | None = None) -> str:
        return run_git(self.git, self.clone, arguments, environment or {}, content)


def fleet_repository(
    git: Path, folder: Path, fleet: Path, source: GitSource, tree: str, has_chart: Callable[[ChartSource], bool]
) -> FleetRepository:
    """Copies a fleet into a new clone in a folder. Nothing is committed.

    source is any of the fleet's Git sources; tree is the path of out/ in the repository.

    Raises:
        RepositoryError: if the proxy cannot serve the address of the repository.
    """
    if not source.url.startswith("https://"):
        raise RepositoryError(f"--argocd serves Git over https only, but delivery.repo is {source.url}")
    clone, bare = folder / "clone", folder / "git" / source.host / source.repository
    root = clone / PurePosixPath(tree).parent
    for name in _COPIED:
        if (fleet / name).is_dir():
            shutil.copytree(fleet / name, root / name)
    bare.mkdir(parents=True)
    run_git(git, bare, ("init", "--quiet", "--bare", f"--initial-branch={source.revision}"))
    run_git(git, clone, ("init", "--quiet", f"--initial-branch={source.revision}"))
    return FleetRepository(git, clone, root, bare, source.revision, has_chart)


def run_git(
    git: Path,
    folder: Path,
    arguments: Iterable[str],
    environment: dict[str, str] | None = None,
    content: str | None = None,
) -> str:
    """Runs a Git command and returns its output without the final line break.

    Raises:
        RepositoryError: if the command fails.
    """
    command = [str(git), *arguments]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        command,
        cwd=folder,
        env=inherited | _IDENTITY | (environment or {}),
        input=content,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RepositoryError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def simulated(text: str) -> str:
    """The text of a file in which NodePools use the simulated node class."""
    return _NODE_CLASS.sub(rf"\g<1>{SIMULATED_GROUP}\g<2>{SIMULATED_CLASS}\n", text)


def documents(file: Path) -> list[Body]:
    """The objects in a YAML file."""
    import yaml

    return [document for document in yaml.safe_load_all(file.read_text(encoding="utf-8")) if document]


def application_spec(file: Path) -> Body:
    """The spec of the Application in a file, or an empty map."""
    return next((found["spec"] for found in documents(file) if found["kind"] == "Application"), {})


def application_name(file: Path) -> str:
    """The name of the Application in a file."""
    return str(next(found["metadata"]["name"] for found in documents(file) if found["kind"] == "Application"))


def first_git_source(specs: Iterable[Body]) -> GitSource:
    """The first Git source with a path in the specs of Applications.

    Raises:
        RepositoryError: if no Application has one.
    """
    for spec in specs:
        for source in git_sources(spec):
            if source.path:
                return source
    raise RepositoryError("no Application has a folder of a Git repository as its source")
