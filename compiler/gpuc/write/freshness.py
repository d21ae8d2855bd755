"""`gpuc check --fresh`: compares the committed files in out/ and clusters/ with the output of the specs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpuc.diagnostics.finding import Finding, Severity, declare_rule
from gpuc.write import transaction
from gpuc.write.filesystem import RefusedError, SafeDir
from gpuc.write.lockfile import TOPS, lock_file, parse
from gpuc.write.writer import OUTSIDE, Output, at_file, removed_clusters

MISSING = declare_rule(
    "WRT006",
    Severity.ERROR,
    "A file of the output is missing.",
    "Argo CD syncs the committed files: it would prune the objects of this file, or never create them.",
)
EXTRA = declare_rule(
    "WRT007",
    Severity.ERROR,
    "out/ or clusters/ contains a file that does not belong to the output.",
    "Argo CD would sync the objects of the file, although no spec describes them.",
)
STALE = declare_rule(
    "WRT008",
    Severity.ERROR,
    "A file is the output of an older version of the spec.",
    "The cluster would not match the specs. Run `gpuc compile` and commit the result.",
)
EDITED = declare_rule(
    "WRT009",
    Severity.ERROR,
    "A file of the output was edited by hand.",
    "The next compile overwrites the edit. Change the spec and compile.",
)
STALE_INDEX = declare_rule(
    "WRT010",
    Severity.ERROR,
    "gpuc.lock is out of date.",
    "gpuc.lock decides which files the next compile may replace or remove. Run `gpuc compile` and commit the result.",
)
INTERRUPTED = declare_rule(
    "WRT011",
    Severity.ERROR,
    "A compile was interrupted while it wrote files.",
    "Some files may be new and others old. Run `gpuc compile`: it completes or undoes the change.",
)


def stale(root: str | os.PathLike[str], outputs: Sequence[Output], *, all_clusters: bool = False) -> list[Finding]:
    """Finds every file that differs from the outputs: missing, extra, stale or edited by hand.

    The comparison uses the bytes of the files. Only the distinction between stale and edited files uses gpuc.lock.
    """
    findings: list[Finding] = []
    try:
        with SafeDir(root) as tree:
            if transaction.is_pending(tree):
                findings.append(at_file(INTERRUPTED, transaction.STAGING, "an earlier compile did not finish"))
            for output in outputs:
                findings += [replace(finding, cluster=output.cluster) for finding in _differences(tree, output)]
            for cluster in removed_clusters(tree, outputs) if all_clusters else ():
                message = f"{lock_file(cluster)} belongs to a cluster that no spec describes"
                findings.append(replace(at_file(EXTRA, lock_file(cluster), message), cluster=cluster))
    except RefusedError as error:
        findings.append(at_file(OUTSIDE, error.path, str(error)))
    except OSError as error:
        findings.append(at_file(MISSING, "out", f"out/ cannot be read: {error.strerror or error}"))
    return findings


def _differences(tree: SafeDir, output: Output) -> Iterator[Finding]:
    expected = output.files()
    index_file = lock_file(output.cluster)
    digests = _digests(tree, output.cluster)
    for file, text in sorted(expected.items()):
        try:
            present = tree.read(file)
        except RefusedError as error:
            yield at_file(OUTSIDE, error.path, str(error))
            continue
        if present == text:
            continue
        if present is None:
            yield at_file(MISSING, file, f"{file} is missing")
        elif file == index_file:
            yield at_file(STALE_INDEX, file, f"{file} is out of date")
        elif transaction.digest(present) == digests.get(file):
            yield at_file(STALE, file, f"{file} is the output of an older version of the spec")
        else:
            yield at_file(EDITED, file, f"{file} was edited by hand")
    for top in TOPS:
        for file in tree.files(f"{top}/{output.cluster}"):
            if file not in expected:
                reason = "no longer belongs to the output" if file in digests else "was not written by gpuc"
                yield at_file(EXTRA, file, f"{file} {reason}")


def _digests(tree: SafeDir, cluster: str) -> dict[str, str]:
    """The sha256 of each file in gpuc.lock; empty if gpuc.lock is missing or damaged."""
    index = tree.read(lock_file(cluster))
    try:
        return parse(index, cluster).sha256 if index is not None else {}
    except ValueError:
        return {}
