"""Emulations of the public actions that the workflows use: what they do to the workspace, without their code."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tests.ci.hosting import git
from tests.ci.runner import copy

if TYPE_CHECKING:
    from tests.ci.runner import Execution

Inputs = dict[str, str]


def checkout(job: "Execution", given: Inputs) -> None:
    """Fetches one commit from the repository of the run into the workspace, with a limited depth."""
    ref = given.get("ref") or job.github["sha"]
    bare = f"file://{job.machine.hosting.bare}"
    git(job.workspace, "init", "--quiet", "--initial-branch", "work")
    git(job.workspace, "remote", "add", "origin", bare)
    if given.get("persist-credentials") != "false":
        git(job.workspace, "config", "http.extraheader", f"AUTHORIZATION: basic {job.github['token']}")
    if pattern := given.get("sparse-checkout"):
        git(job.workspace, "sparse-checkout", "set", pattern)
    depth = given.get("fetch-depth", "1")
    limit = [] if depth == "0" else ["--depth", depth]
    git(job.workspace, "fetch", "--quiet", *limit, "origin", ref)
    git(job.workspace, "checkout", "--quiet", "--detach", "FETCH_HEAD")


def setup_python(job: "Execution", given: Inputs) -> None:
    """Puts a Python on the path. The file with the dependencies must exist, because its digest is the cache key."""
    if given.get("cache"):
        assert (job.workspace / given["cache-dependency-path"]).is_file(), given
    job.path.insert(0, str(job.machine.python(job.folder)))


def setup_go(job: "Execution", given: Inputs) -> None:
    """Puts the Go of this machine on the path."""
    go = shutil.which("go")
    assert go is not None, "Go is not installed"
    job.path.insert(0, str(Path(os.path.realpath(go)).parent))


def upload_artifact(job: "Execution", given: Inputs) -> None:
    """Copies a file or a folder; an artifact of a run is never replaced."""
    source = job.workspace / given["path"]
    target = job.machine.folder / f"artifact-{len(job.machine.artifacts)}-{job.folder.name}"
    if not source.exists() or (source.is_dir() and not any(source.iterdir())):
        assert given.get("if-no-files-found") == "ignore", f"{source} has no files"
        return
    assert given["name"] not in job.machine.artifacts, "an artifact of this name exists"
    copy(source, target)
    job.machine.artifacts[given["name"]] = target


def download_artifact(job: "Execution", given: Inputs) -> None:
    """Copies the files of an artifact of the same run."""
    copy(job.machine.artifacts[given["name"]], job.workspace / given["path"])


def restore_cache(job: "Execution", given: Inputs) -> dict[str, str]:
    """Copies a folder from the cache, unless the job only looks it up."""
    source = job.machine.caches.get(given["key"])
    if source is not None and given.get("lookup-only") != "true":
        copy(source, Path(given["path"]))
    return {"cache-hit": "" if source is None else "true"}


def save_cache(job: "Execution", given: Inputs) -> None:
    """Copies a folder into the cache."""
    target = job.machine.folder / f"cache-{len(job.machine.caches)}"
    copy(Path(given["path"]), target)
    job.machine.caches[given["key"]] = target


ACTIONS: "dict[str, Callable[[Execution, Inputs], dict[str, str] | None]]" = {
    "actions/checkout": checkout,
    "actions/setup-python": setup_python,
    "actions/setup-go": setup_go,
    "actions/upload-artifact": upload_artifact,
    "actions/download-artifact": download_artifact,
    "actions/cache/restore": restore_cache,
    "actions/cache/save": save_cache,
}
"""The emulations by the name of the action."""
