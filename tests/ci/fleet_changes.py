"""A fleet from `gpuc init` on a hosting service, and the changes of its pull requests."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuc.cli.main import main
from tests.ci.github_api import GitHub, served
from tests.ci.hosting import Hosting, PullRequest, git
from tests.ci.runner import Job, Machine, Run, shared_python
from tests.conftest import edit

SPEC = "specs/dev-use1.yaml"
POISON = (
    "::error::forged ##[error]forged $(touch pwned) `touch pwned` @acme/admins <img src=https://evil.example/x> "
    "![x](https://evil.example/y) [z](https://evil.example/z) #1 &#64;acme/admins --> <!-- gpuc plan -->"
)
"""A text that tries to be a workflow command, a shell command, a mention, an image, a link and the end of a comment."""


def new_fleet(folder: Path, requirement: str, files: Mapping[str, bytes] | None = None) -> None:
    """Writes a compiled fleet with one commit, and with further files such as the wheel."""
    assert main(["init", str(folder), "--requirement", requirement]) == 0
    for file, data in (files or {}).items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(data)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    compile_fleet(folder)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "The fleet")


def more_nodes(clone: Path) -> None:
    """Increases the node pool of the fleet, and compiles it."""
    edit(clone / SPEC, ("nodes: {max: 4}", "nodes: {max: 6}"))
    compile_fleet(clone)


def compile_fleet(folder: Path) -> None:
    """Compiles the specs of a clone."""
    with chdir(folder):
        assert main(["compile", "--quiet"]) == 0


@dataclass
class Project:
    """The fleet, the API, and the runs of its workflows."""

    hosting: Hosting
    machine: Machine
    github: GitHub
    number: int = 0

    def change(self, change: Callable[[Path], object], owner: str = "acme", branch: str = "change") -> PullRequest:
        """Opens a pull request with a change, or pushes the change to the branch of an open pull request."""
        clone = self.hosting.clone(owner)
        change(clone)
        self.hosting.push(clone, branch)
        known = [pull for pull in self.github.pulls if (pull["head"]["user"], pull["head"]["ref"]) == (owner, branch)]
        if not known:
            self.number += 1
        pull = self.hosting.pull_request(known[0]["number"] if known else self.number, owner, branch)
        for row in known:
            self.github.pulls.remove(row)
        self.github.pulls.append(self._row(pull))
        return pull

    def review(self, pull: PullRequest, skip: Callable[[str], bool] = lambda job: False) -> dict[str, Job]:
        """Runs the workflow of a pull request, from its merge with main."""
        self.machine.artifacts.clear()
        event = {"pull_request": self._row(pull), "repository": {"default_branch": "main"}}
        context = {"event_name": "pull_request", "event": event, "sha": pull.merge, "ref": pull.ref}
        run = Run(self.machine, {**context, "repository": self.hosting.name}, is_fork=pull.owner != "acme", skip=skip)
        return run.workflow("gpuc.yaml")

    def push(self) -> dict[str, Job]:
        """Runs the workflow for the newest commit of main."""
        self.machine.artifacts.clear()
        sha = git(self.hosting.bare, "rev-parse", "refs/heads/main")
        context = {"event_name": "push", "event": {}, "sha": sha, "ref": "refs/heads/main"}
        return Run(self.machine, {**context, "repository": self.hosting.name}).workflow("gpuc.yaml")

    def comment(self, pull: PullRequest, jobs: dict[str, Job]) -> Job:
        """Runs the workflow that follows the workflow of a pull request, from main, and returns its job."""
        number = 100 + len(self.github.artifacts)
        self.github.artifacts[number] = []
        for name, folder in self.machine.artifacts.items():
            self.github.add_artifact(number, name, {file.name: file.read_bytes() for file in folder.iterdir()})
        failed = any(job.result == "failure" for job in jobs.values())
        event = {"workflow_run": self._run(pull, number, failed), "repository": {"default_branch": "main"}}
        sha = git(self.hosting.bare, "rev-parse", "refs/heads/main")
        context = {"event_name": "workflow_run", "event": event, "sha": sha, "ref": "refs/heads/main"}
        self.github.tokens = self.machine.tokens
        return Run(self.machine, {**context, "repository": self.hosting.name}).workflow("gpuc-comment.yaml")["comment"]

    def bodies(self) -> list[str]:
        """The texts of all comments."""
        return [comment["body"] for comment in self.github.comments]

    def _row(self, pull: PullRequest) -> dict[str, Any]:
        source = {"full_name": f"{pull.owner}/fleet"}
        head = {"sha": pull.head, "ref": pull.branch, "user": pull.owner, "repo": source}
        base = {"ref": "main", "repo": {"full_name": self.hosting.name}}
        return {"number": pull.number, "state": "open", "head": head, "base": base}

    def _run(self, pull: PullRequest, number: int, failed: bool) -> dict[str, Any]:
        return {
            "id": number,
            "event": "pull_request",
            "conclusion": "failure" if failed else "success",
            "head_sha": pull.head,
            "head_branch": pull.branch,
            "head_repository": {"full_name": f"{pull.owner}/fleet", "owner": {"login": pull.owner}},
            "html_url": f"https://github.com/{self.hosting.name}/actions/runs/{number}",
            "pull_requests": [{"number": pull.number}] if pull.owner == "acme" else [],
        }


@contextmanager
def project(folder: Path, fleet: Path, python: Callable[[Path], Path] = shared_python) -> Iterator[Project]:
    """A project whose main branch is the fleet in a folder."""
    for name in ("git", "jobs"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    hosting = Hosting(folder / "git", fleet)
    with served(GitHub()) as github:
        yield Project(hosting, Machine(hosting, folder / "jobs", python, github.url), github)
