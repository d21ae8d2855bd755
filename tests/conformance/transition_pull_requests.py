"""The pull requests of tests/plan as edits whose transitions are compared."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gpuc.lint.load.load_objects import load_objects
from gpuc.manifest.manifest import Manifest
from gpuc.pipeline.rehearsed_spec import without_leaving
from gpuc.source import cluster_files, read
from tests.conformance.transition_edits import Edit, State
from tests.plan.example_pull_requests import CLUSTERS, PullRequest, apply_edits, pull_requests
from tests.plan.repository import fleet


def pull_request_edits(folder: Path) -> Iterator[Edit]:
    """Yields an edit for each pull request and each cluster that it changes.

    Args:
        folder: an empty folder, which receives the two states of each pull request.
    """
    example = fleet(folder / "example", *CLUSTERS)
    for request in pull_requests():
        before, after = folder / request.name / "before", folder / request.name / "after"
        shutil.copytree(example.root / "specs", before / "specs")
        apply_edits(before, request.before)
        shutil.copytree(before, after)
        apply_edits(after, request.change)
        workloads = _workloads(request, folder / request.name / "workloads")
        # A new or removed cluster has no transition.
        for file in sorted(set(cluster_files(before)) & set(cluster_files(after))):
            if _content(before, file) != _content(after, file):
                old, new = (State(root, read(root, file)) for root in (before, after))
                name = Path(file).stem
                is_example = (example.root / file).is_file() and _content(before, file) == _content(example.root, file)
                own = "" if is_example and not workloads else request.name
                # Work of an element that leaves must run before, on the control plane of the example.
                _, leaving = without_leaving(read(before, file).tree)
                base, plane = (own, "") if leaving else ("", own)
                yield Edit(f"{request.name} ({name})", name, old, new, base, plane, workloads=workloads)


def _workloads(request: PullRequest, folder: Path) -> tuple[Manifest, ...]:
    if not request.workloads:
        return ()
    folder.mkdir()
    (folder / "objects.yaml").write_text(request.workloads, encoding="utf-8")
    return tuple(load_objects([str(folder)]).manifests)


def _content(root: Path, file: str) -> tuple[Mapping[str, Any], dict[str, bytes]]:
    """Returns the merged spec of a cluster, and the files of its folder."""
    folder = (root / file).with_suffix("")
    files = {str(file.relative_to(root)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
    return read(root, file).tree, files
