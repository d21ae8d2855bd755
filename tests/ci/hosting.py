"""Bare Git repositories that behave like a hosting service: branches, forks, and the merges of pull requests."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

USER = {f"GIT_{role}_{field}": "test@example.com" for role in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")}
CONFIG = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


def git(folder: Path, *arguments: str) -> str:
    """Runs git without the configuration of the user, and returns the output."""
    command = ["git", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | USER | CONFIG, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout.strip()


@dataclass(frozen=True)
class PullRequest:
    """A pull request: a branch of a repository, and a merge with the base branch."""

    number: int
    owner: str
    branch: str
    head: str
    merge: str

    @property
    def ref(self) -> str:
        """The ref of the merge, which a job checks out."""
        return f"refs/pull/{self.number}/merge"


class Hosting:
    """The bare repository of a fleet, and its forks, below one folder."""

    name = "acme/fleet"

    def __init__(self, folder: Path, fleet: Path) -> None:
        self.folder = folder
        self.bare = folder / "acme.git"
        git(folder, "init", "--quiet", "--bare", "--initial-branch", "main", str(self.bare))
        git(self.bare, "config", "uploadpack.allowAnySHA1InWant", "true")
        git(fleet, "push", "--quiet", str(self.bare), "HEAD:refs/heads/main")

    def clone(self, owner: str = "acme") -> Path:
        """A new clone of main, for an author. A fork is created if the owner has none."""
        bare = self.folder / f"{owner}.git"
        if not bare.exists():
            git(self.folder, "clone", "--quiet", "--bare", str(self.bare), str(bare))
        target = self.folder / f"clone-{len(list(self.folder.iterdir()))}"
        git(self.folder, "clone", "--quiet", str(bare), str(target))
        return target

    def push(self, clone: Path, branch: str) -> str:
        """Commits all files of a clone, pushes them to a branch, and returns the commit."""
        git(clone, "add", "--all")
        git(clone, "commit", "--quiet", "--message", "Change")
        git(clone, "push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")
        return git(clone, "rev-parse", "HEAD")

    def pull_request(self, number: int, owner: str, branch: str) -> PullRequest:
        """The pull request of a branch, with its newest commit, merged into main."""
        head = git(self.folder / f"{owner}.git", "rev-parse", f"refs/heads/{branch}")
        source = f"+refs/heads/{branch}:refs/pull/{number}/head"
        git(self.bare, "fetch", "--quiet", str(self.folder / f"{owner}.git"), source)
        base = git(self.bare, "rev-parse", "refs/heads/main")
        tree = git(self.bare, "merge-tree", "--write-tree", base, head)
        merge = git(self.bare, "commit-tree", tree, "-p", base, "-p", head, "-m", f"Merge {head} into {base}")
        git(self.bare, "update-ref", f"refs/pull/{number}/merge", merge)
        return PullRequest(number, owner, branch, head, merge)
