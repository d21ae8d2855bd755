"""A Git repository with an example fleet, for tests of `gpuc plan`."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import MACHINES, ROOT

_USER = ("-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false")


@dataclass(frozen=True)
class Fleet:
    """A fleet with one cluster in a Git repository."""

    root: Path

    def git(self, *arguments: str) -> str:
        """Runs git in the fleet and returns the output."""
        command = ("git", *_USER, *arguments)
        return subprocess.run(command, cwd=self.root, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, message: str = "Change") -> str:
        """Commits all files and returns the id of the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    def replace(self, old: str, new: str, name: str = "prod-use1") -> None:
        """Replaces a text that is in the spec exactly once."""
        file = self.root / f"specs/{name}.yaml"
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, (old, text.count(old))
        file.write_text(text.replace(old, new), encoding="utf-8")


def fleet(folder: Path, *names: str) -> Fleet:
    """A repository with the specs and the committed output of example clusters."""
    (folder / "specs").mkdir(parents=True)
    shutil.copytree(ROOT / "specs/base", folder / "specs/base")
    for name in names or ("prod-use1",):
        shutil.copy(ROOT / f"specs/{name}.yaml", folder / f"specs/{name}.yaml")
        for top in ("out", "clusters"):
            shutil.copytree(ROOT / top / name, folder / top / name)
    found = Fleet(folder)
    found.git("init", "--quiet", "--initial-branch", "main")
    found.commit("The fleet")
    return found


def machines(folder: Path) -> Fleet:
    """A repository with the fleet examples/machines, in the folder in which its spec expects the output."""
    root = folder / "examples/machines"
    shutil.copytree(MACHINES, root)
    found = Fleet(folder)
    found.git("init", "--quiet", "--initial-branch", "main")
    found.commit("The fleet")
    return Fleet(root)
