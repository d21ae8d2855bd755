"""`gpuc specs`: lists the clusters of a fleet, or only the clusters whose files a change has touched."""

import json
from collections.abc import Sequence
from pathlib import Path

from gpuc.cli.specs import find_root
from gpuc.diagnostics.report.console import print_document, write_stdout
from gpuc.diagnostics.report.document import Block, Table, picked
from gpuc.diagnostics.words import first_names
from gpuc.plan.changed_specs import ClusterFiles

_NAMED_FILES = 3
"""The largest number of files that the text names for a cluster."""


def run_specs(changed: str | None = None, form: str = "text") -> None:
    """Prints the clusters of a fleet.

    Args:
        changed: a revision or folder; prints only the clusters whose files differ from it. None: prints all clusters.

    Raises:
        UsageError: if the revision or folder cannot be read.
    """
    root = find_root(Path.cwd())
    clusters = _clusters(root) if changed is None else _changed(root, changed)
    if form == "json":
        # The rows have no lists of files, so that a job matrix of many clusters is small.
        names = "name file" if changed is None else "name file change"
        write_stdout(json.dumps([picked(cluster, names) for cluster in clusters]) + "\n")
    else:
        print_document([_blocks(clusters, changed)])


def _clusters(root: Path) -> list[ClusterFiles]:
    from gpuc.source import cluster_files

    return [ClusterFiles(Path(file).stem, file, False, ()) for file in cluster_files(root)]


def _changed(root: Path, against: str) -> list[ClusterFiles]:
    from gpuc.plan.changed_specs import compared_clusters
    from gpuc.plan.revision import revision_root

    with revision_root(root, against) as before:
        return [cluster for cluster in compared_clusters(root, before) if cluster.change != "unchanged"]


def _blocks(clusters: Sequence[ClusterFiles], against: str | None) -> Block:
    if not clusters:
        return "specs/ has no clusters" if against is None else f"no cluster differs from {against}"
    return Table([(cluster.name, cluster.file, _reason(cluster)) for cluster in clusters])


def _reason(cluster: ClusterFiles) -> str:
    if cluster.change != "changed":
        return "added" if cluster.is_new else ""
    return f"changed: {first_names(cluster.different, _NAMED_FILES)}"
