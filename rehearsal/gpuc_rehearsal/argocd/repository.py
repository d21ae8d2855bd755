"""The Git repository from which Argo CD reads the fleet in a rehearsal. gpuc changes some files for each commit."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path, PurePosixPath

from msgspec import Struct, field

from gpuc.catalog import load
from gpuc.catalog.schemas import custom_kinds
from gpuc.cluster.application import Application, Source, applications
from gpuc.documents.reader import load_all_yaml
from gpuc.kubernetes.api_groups import is_custom
from gpuc.manifest.manifest import Body, manifest_of
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
    """The error if Argo CD cannot read the fleet from a Git repository. The message contains the reason."""


class FleetRepository(Struct):
    """A folder with the files of the fleet, which a test can edit, and the bare Git repository that Argo CD reads.

    A commit copies the files into the repository with two changes. NodePools refer to the simulated cloud provider.
    Applications are missing if their charts are not available.
    """

    git: Path
    """Path of the program git."""
    top: Path
    """The folder of the repository's files, for edits."""
    root: Path
    """The fleet in this folder: specs/, out/, clusters/."""
    bare: Path
    """The repository that Argo CD reads."""
    has_chart: Callable[[Source], bool]
    """Returns whether a chart is available."""
    not_rendered: dict[str, str] = field(default_factory=dict)
    """Reasons why Applications of the last commit are not in the bare repository, by name of the Application."""

    def commit(self, message: str) -> str:
        """Commits a changed copy of all files, and returns the commit id. Raises RepositoryError without changes."""
        copy = self.top.with_name("copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.top, copy)
        self.not_rendered.clear()
        output = copy / self.root.relative_to(self.top) / "out"
        for folder in sorted(output.glob("*/apps")):
            self._remove_not_rendered(copy, folder)
        for file in sorted(output.glob("*/*/**/*.yaml")):
            changed = text = file.read_text(encoding="utf-8")
            for autoscaler in autoscalers():
                changed = autoscaler.simulated_text(changed)
            if changed != text:
                file.write_text(changed, encoding="utf-8")
        git = partial(run_git, self.git, copy, "--git-dir", str(self.bare), "--work-tree", str(copy))
        git("add", "--all")
        if not git("status", "--porcelain"):
            raise RepositoryError(f"nothing to commit for: {message}")
        git("commit", "--quiet", "--message", message)
        return git("rev-parse", "HEAD")

    def _remove_not_rendered(self, top: Path, folder: Path) -> None:
        """Removes the files of Applications that cannot be synced because a chart is missing.

        The root Application would wait for these Applications forever.
        """
        reasons: dict[Path, str] = {}
        missing_charts: dict[str, str] = {}  # by API group
        lacks_further_chart = False
        by_chart, of_gpuc = load().chart_groups, {api.partition("/")[0] for api, _ in custom_kinds()}
        files = {file: list(applications(map(manifest_of, documents(file)))) for file in sorted(folder.glob("*.yaml"))}
        found = {file: rows[0] for file, rows in files.items() if rows}
        for file, application in found.items():
            source = application.chart
            if source and not self.has_chart(source):
                missing = f"chart {source.chart} {source.revision} of {source.url} is missing"
                reasons[file] = f"{missing}; set --charts to a folder that contains the chart"
                lacks_further_chart = lacks_further_chart or source.chart not in by_chart
                missing_charts |= dict.fromkeys(by_chart.get(source.chart, ()), source.chart)
        for file, application in found.items():
            for group in sorted(_groups(top, application)):
                if chart := missing_charts.get(group):
                    reasons.setdefault(file, f"objects of the API group {group} need chart {chart}, which is missing")
                elif lacks_further_chart and is_custom(group) and group not in of_gpuc:
                    reasons.setdefault(file, f"objects of the API group {group} can need a chart that is missing")
        for file, reason in reasons.items():
            file.unlink()
            self.not_rendered[found[file].name] = reason


def _groups(top: Path, application: Application) -> set[str]:
    """Returns the API groups of the objects in the Git folders of an Application."""
    folders = [top / source.folder for source in application.git_sources if source.folder]
    files = (file for folder in folders for file in folder.rglob("*.yaml"))
    return {group for file in files for group in _GROUP.findall(file.read_text(encoding="utf-8"))}


def fleet_repository(
    git: Path, folder: Path, fleet: Path, source: Source, output_path: str, has_chart: Callable[[Source], bool]
) -> FleetRepository:
    """Creates a Git repository in an empty folder, and copies the files of a fleet. Nothing is committed.

    Args:
        fleet: the folder that contains specs/.
        source: any Git source of the fleet's Applications, for the URL and the branch.
        output_path: the path of out/ in the repository.

    Raises:
        RepositoryError: if the URL of the repository does not start with https://, or if a Git command fails.
    """
    if not source.url.startswith("https://"):
        raise RepositoryError(
            f"--argocd serves Git over https only: set delivery.repo to an https:// URL, not {source.url}"
        )
    top, bare = folder / "clone", folder.joinpath("git", *address(source.url))
    root = top / PurePosixPath(output_path).parent
    for name in _COPIED:
        if (fleet / name).is_dir():
            shutil.copytree(fleet / name, root / name)
    bare.mkdir(parents=True)
    run_git(git, bare, "init", "--quiet", "--bare", f"--initial-branch={source.revision}")
    return FleetRepository(git, top, root, bare, has_chart)


def run_git(git: Path, folder: Path, *arguments: str) -> str:
    """Runs a Git command, and returns its output. Raises RepositoryError if the command fails."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command, variables = [str(git), *arguments], inherited | _IDENTITY
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RepositoryError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def documents(file: Path) -> list[Body]:
    """Returns the Kubernetes objects in a YAML file."""
    return [document for document in load_all_yaml(file.read_text(encoding="utf-8")) if document]


def first_git_source(found: Iterable[Application]) -> Source:
    """Returns the first source of Applications that is a folder in Git. Raises RepositoryError if there is none."""
    for source in (source for application in found for source in application.git_sources if source.folder):
        return source
    raise RepositoryError("no Application has a folder of a Git repository as its source")
