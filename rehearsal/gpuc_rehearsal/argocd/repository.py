"""The fleet in two Git repositories: a clone for edits, and a bare repository that Argo CD reads."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from gpuc.catalog import load
from gpuc.catalog.schemas import custom_kinds
from gpuc.cluster.application import ARGO, Application, Source, application_in
from gpuc.documents.reader import load_all_yaml
from gpuc.kubernetes.api_groups import is_custom
from gpuc.manifest.manifest import Body, Manifest
from gpuc_rehearsal.argocd.charts import address
from gpuc_rehearsal.autoscaler import autoscalers

_IDENTITY = {
    "GIT_AUTHOR_NAME": "gpuc",
    "GIT_AUTHOR_EMAIL": "gpuc@localhost",
    "GIT_COMMITTER_NAME": "gpuc",
    "GIT_COMMITTER_EMAIL": "gpuc@localhost",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
}
_GROUP = re.compile(r"^apiVersion: ([^/\s]+)/", re.MULTILINE)
_COPIED = ("specs", "out", "clusters", "policies")
"""Folders of a fleet that `gpuc compile` reads or writes."""


class RepositoryError(Exception):
    """The fleet cannot be served. The message contains the reason."""


@dataclass
class FleetRepository:
    """A clone with the files of the fleet, and a bare repository with a changed copy of these files for the rehearsal.

    In the bare repository, NodePools use the simulated node class, and Applications without an available chart are
    missing.
    """

    git: Path
    """Path of the program git."""
    clone: Path
    """The root folder of the clone."""
    root: Path
    """The fleet in the clone: specs/, out/, clusters/."""
    bare: Path
    """The repository that Argo CD reads."""
    branch: str
    has_chart: Callable[[Source], bool]
    """Returns whether a chart is available."""
    not_rendered: dict[str, str] = field(default_factory=dict)
    """Reasons why Applications of the last commit are not in the bare repository, by name of the Application."""

    def commit(self, message: str) -> str:
        """Commits all changes, pushes the changed copy to the bare repository, and returns the pushed commit.

        Raises:
            RepositoryError: if nothing has changed.
        """
        self._run("add", "--all")
        if not self._run("status", "--porcelain"):
            raise RepositoryError(f"nothing to commit for: {message}")
        self._run("commit", "--quiet", "--message", message)
        return self._serve(message)

    def _serve(self, message: str) -> str:
        """Creates a commit of the changed copy and pushes the commit. A separate index leaves the clone unchanged."""
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
        """Changes the index: removes Applications that cannot be synced, and replaces the node class of NodePools."""
        self.not_rendered.clear()
        for folder in sorted((self.root / "out").glob("*/apps")):
            for file, (name, reason) in self._not_rendered(folder).items():
                self._run("rm", "--cached", "--quiet", self._path_in_clone(file), environment=index)
                self.not_rendered[name] = reason
        for file in sorted((self.root / "out").glob("*/*/**/*.yaml")):
            text = file.read_text(encoding="utf-8")
            if (changed := _simulated(text)) != text:
                blob = self._run("hash-object", "-w", "--stdin", content=changed)
                cache_info = f"100644,{blob},{self._path_in_clone(file)}"
                self._run("update-index", "--cacheinfo", cache_info, environment=index)

    def _not_rendered(self, folder: Path) -> dict[Path, tuple[str, str]]:
        """Returns the files of Applications that cannot be synced because a chart is missing: (name, reason).

        The root Application would wait for these Applications forever.
        """
        reasons: dict[Path, str] = {}
        missing_charts: dict[str, str] = {}  # by API group
        lacks_further_chart = False
        by_chart = load().chart_groups
        found = {file: application for file in sorted(folder.glob("*.yaml")) if (application := _application(file))}
        for file, application in found.items():
            source = application.chart
            if source and not self.has_chart(source):
                missing = f"chart {source.chart} {source.revision} of {source.url} is missing"
                reasons[file] = f"{missing}; set --charts to a folder that contains the chart"
                lacks_further_chart = lacks_further_chart or source.chart not in by_chart
                missing_charts |= dict.fromkeys(by_chart.get(source.chart, ()), source.chart)
        for file, application in found.items():
            groups = self._groups(application)
            for group in sorted(groups & missing_charts.keys()):
                chart_name = missing_charts[group]
                reasons.setdefault(file, f"objects of the API group {group} need chart {chart_name}, which is missing")
            for group in sorted(filter(_is_unknown, groups)) if lacks_further_chart else ():
                reasons.setdefault(file, f"objects of the API group {group} can need a chart that is missing")
        return {file: (found[file].name, reason) for file, reason in reasons.items()}

    def _groups(self, application: Application) -> set[str]:
        """Returns the API groups of the objects in the Git folders of an Application."""
        folders = [self.clone / source.folder for source in application.git_sources if source.folder]
        files = (file for folder in folders for file in folder.rglob("*.yaml"))
        return {group for file in files for group in _GROUP.findall(file.read_text(encoding="utf-8"))}

    def _path_in_clone(self, file: Path) -> str:
        return file.relative_to(self.clone).as_posix()

    def _run(self, *arguments: str, environment: dict[str, str] | None = None, content: str | None = None) -> str:
        return run_git(self.git, self.clone, arguments, environment, content)


def _is_unknown(group: str) -> bool:
    """Returns whether an API group is neither built into Kubernetes nor of a component of gpuc."""
    return is_custom(group) and group not in {api.partition("/")[0] for api, _ in custom_kinds()}


def fleet_repository(
    git: Path, folder: Path, fleet: Path, source: Source, output_path: str, has_chart: Callable[[Source], bool]
) -> FleetRepository:
    """Creates the repositories in an empty folder and copies a fleet into the clone. Nothing is committed.

    Args:
        fleet: the folder that contains specs/.
        source: any Git source of the fleet's Applications.
        output_path: the path of out/ in the repository.

    Raises:
        RepositoryError: if the URL of the repository does not start with https://, or if a Git command fails.
    """
    if not source.url.startswith("https://"):
        raise RepositoryError(
            f"--argocd serves Git over https only: set delivery.repo to an https:// URL, not {source.url}"
        )
    clone, bare = folder / "clone", folder.joinpath("git", *address(source.url))
    root = clone / PurePosixPath(output_path).parent
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
    variables = inherited | _IDENTITY | (environment or {})
    done = subprocess.run(
        command, cwd=folder, env=variables, input=content, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RepositoryError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def _simulated(text: str) -> str:
    """Returns the text of a file in which pools refer to the simulated provider."""
    for autoscaler in autoscalers():
        text = autoscaler.simulated_text(text)
    return text


def documents(file: Path) -> list[Body]:
    """Returns the objects in a YAML file."""
    return [document for document in load_all_yaml(file.read_text(encoding="utf-8")) if document]


def _application(file: Path) -> Application | None:
    """Returns the Application in a file, or None."""
    return next((application_of(document) for document in documents(file) if document["kind"] == "Application"), None)


def application_of(document: Body) -> Application:
    """Returns an Application of the API server, whose lists have items without apiVersion and kind."""
    name, body = document["metadata"]["name"], {"spec": document.get("spec")}
    return application_in(Manifest("", (), f"{ARGO}/v1alpha1", "Application", name, body))


def first_git_source(applications: Iterable[Application]) -> Source:
    """Returns the first Git source with a path of Applications.

    Raises:
        RepositoryError: if no Application has such a source.
    """
    for application in applications:
        for source in application.git_sources:
            if source.folder:
                return source
    raise RepositoryError("no Application has a folder of a Git repository as its source")
