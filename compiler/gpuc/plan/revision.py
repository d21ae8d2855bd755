"""Reads the files of the state before: a revision of the Git repository, or a folder.

git does not change the work tree: gpuc copies the files of the revision to a temporary folder. gpuc copies only regular
files, because a link could lead to files outside of the repository.
"""

import os
import subprocess
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from gpuc.diagnostics.usage import UsageError

_FLEET = ("specs", "policies")
"""The folders that describe a fleet."""
_OUTPUT = ("out", "clusters")
"""The folders with a folder for each cluster."""
_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_DEEPEN = "fetch the history, for example with `git fetch --unshallow`, or in CI with fetch-depth: 0"


@contextmanager
def revision_root(root: Path, against: str | None, clusters: Collection[str] = ()) -> Iterator[Path]:
    """Yields a folder with the files of the state before.

    Args:
        root: the root of the fleet, in a Git repository.
        against: a revision or a folder; None for the merge base of HEAD and the default branch of origin.
        clusters: the names of the clusters whose output of a revision is needed; empty for all clusters.

    Raises:
        UsageError: when there is no such revision, or the clone does not contain it.
    """
    if against and (folder := _folder(against)):
        yield folder
        return
    with TemporaryDirectory(prefix="gpuc-plan-") as temporary:
        target = Path(temporary)
        commit = merge_base(root) if against is None else commit_of(root, against)
        _copy(root, commit, target, clusters)
        yield target


def commit_of(root: Path, revision: str) -> str:
    """Returns the id of the commit that a revision names.

    Raises:
        UsageError: when the repository has no such commit.
    """
    found = _output(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if found:
        return found
    hint = f"; the clone is shallow: {_DEEPEN}" if _is_shallow(root) else ""
    raise UsageError(f"{revision} is neither a folder nor a revision of this Git repository{hint}")


def revision_name(root: Path, against: str | None) -> str:
    """Returns the state before in words: the folder, or a commit as "1234567890ab (REVISION)"."""
    if against and Path(against).is_dir():
        return against
    commit = merge_base(root) if against is None else commit_of(root, against)
    name = f"the merge base with {_default_branch(root)}" if against is None else against
    return commit[:12] if commit.startswith(name) else f"{commit[:12]} ({name})"


def merge_base(root: Path) -> str:
    """Returns the id of the last common commit of HEAD and the default branch of origin.

    Raises:
        UsageError: when the root is not in a repository, origin has no default branch, or the commit is missing.
    """
    if not _output(root, "rev-parse", "--verify", "--quiet", "HEAD"):
        raise UsageError(f"{root} is not in a Git repository with commits; name the state before with --against DIR")
    branch = _default_branch(root)
    if branch is None:
        raise UsageError("origin has no default branch in this clone; name the state before with --against REV")
    if base := _output(root, "merge-base", "HEAD", branch):
        return base
    if _is_shallow(root):
        raise UsageError(f"the clone is shallow and has no common commit of HEAD and {branch}: {_DEEPEN}")
    raise UsageError(f"HEAD and {branch} have no common commit; name the state before with --against REV")


def _default_branch(root: Path) -> str | None:
    """Returns the default branch of origin, for example "origin/main"; None if the clone does not know it."""
    if head := _output(root, "rev-parse", "--abbrev-ref", "origin/HEAD"):
        return head
    names = ("origin/main", "origin/master")
    return next((name for name in names if _output(root, "rev-parse", "--verify", "--quiet", name)), None)


def _is_shallow(root: Path) -> bool:
    return _output(root, "rev-parse", "--is-shallow-repository") == "true"


def _folder(against: str) -> Path | None:
    """Returns the folder of an argument; None if the argument is not a folder of a fleet or of output."""
    path = Path(against)
    if not against or not path.is_dir():
        return None
    if not any((path / name).is_dir() for name in ("specs", "out")):
        raise UsageError(f"{against} has no specs/ and no out/; expected a folder of a fleet")
    return path.absolute()


def _copy(root: Path, commit: str, target: Path, clusters: Collection[str]) -> None:
    """Copies the files of the fleet at a commit. The root can be a subfolder of the repository.

    Raises:
        UsageError: when the clone does not have all files of the commit, and git cannot fetch them.
    """
    prefix = _output(root, "rev-parse", "--show-prefix")
    output = [f"{name}/{cluster}" for name in _OUTPUT for cluster in clusters] if clusters else _OUTPUT
    folders = [f"{prefix}{name}" for name in (*_FLEET, *output)]
    incomplete = UsageError(
        f"the clone does not have all files of {commit[:12]}, and git cannot fetch them: clone without --filter"
    )
    try:
        listing = _run(root, ["ls-tree", "-r", "-z", "--full-tree", commit, "--", *folders])
        files = [_entry(row) for row in listing.decode("utf-8", "surrogateescape").split("\0") if row]
        regular = [(blob, path) for mode, blob, path in files if mode in ("100644", "100755") and _is_plain(path)]
        contents = _run(root, ["cat-file", "--batch"], "".join(f"{blob}\n" for blob, _ in regular).encode())
    except subprocess.CalledProcessError:
        raise incomplete from None
    position = 0
    for _, path in regular:
        end = contents.index(b"\n", position)
        size_or_missing = contents[position:end].rsplit(b" ", 1)[1]
        if size_or_missing == b"missing":
            raise incomplete
        size = int(size_or_missing)
        file = target / path.removeprefix(prefix)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(contents[end + 1 : end + 1 + size])
        position = end + size + 2


def _entry(row: str) -> tuple[str, str, str]:
    """Returns mode, blob and path of a row of `git ls-tree`."""
    head, _, path = row.partition("\t")
    mode, _, blob = head.split(" ")
    return mode, blob, path


def _is_plain(path: str) -> bool:
    """Returns whether a path stays below the folder into which it is written."""
    return all(step not in ("", ".", "..") for step in path.split("/"))


def _output(root: Path, *arguments: str) -> str:
    """Returns the output of a git command without the line break; an empty string if the command fails."""
    try:
        return _run(root, list(arguments)).decode().strip()
    except (subprocess.CalledProcessError, UnicodeDecodeError):
        return ""


def _run(root: Path, arguments: list[str], text: bytes | None = None) -> bytes:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        return subprocess.run(
            [*_GIT, *arguments], cwd=root, input=text, env=environment, check=True, capture_output=True
        ).stdout
    except FileNotFoundError:
        raise UsageError("git is not installed; name the state before with --against DIR") from None
