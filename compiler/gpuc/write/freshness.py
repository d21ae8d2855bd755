"""Whether what is committed below out/ and clusters/ is what the specs compile to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpuc.diagnostics.finding import Finding, Severity, declare_rule
from gpuc.write import transaction as journal
from gpuc.write.filesystem import RefusedError, SafeDir
from gpuc.write.lockfile import TOPS, lock_file, parse
from gpuc.write.writer import OUTSIDE, Output, at_file, gone

MISSING = declare_rule(
    "WRT006",
    Severity.ERROR,
    "A file that the specs compile to is missing.",
    "Argo CD syncs what is committed: the objects of this file would be pruned, or never exist.",
)
EXTRA = declare_rule(
    "WRT007",
    Severity.ERROR,
    "A file stands among the output that the specs do not compile to.",
    "Argo CD would sync its objects although no spec asks for them.",
)
STALE = declare_rule(
    "WRT008",
    Severity.ERROR,
    "A file is what an older spec compiled to.",
    "The cluster would run something else than the specs say. Compile and commit the result.",
)
EDITED = declare_rule(
    "WRT009",
    Severity.ERROR,
    "A file was edited by hand.",
    "The next compile takes the edit back. Say it in the spec, then compile.",
)
STALE_INDEX = declare_rule(
    "WRT010",
    Severity.ERROR,
    "The index is not the one that belongs to these specs.",
    "It decides which files the next compile may replace or remove. Compile and commit the result.",
)
INTERRUPTED = declare_rule(
    "WRT011",
    Severity.ERROR,
    "A compile was interrupted while it wrote.",
    "Some files are new and some are old until the next compile finishes or undoes it.",
)


def stale(root: str | os.PathLike[str], outputs: Sequence[Output], *, all_clusters: bool = False) -> list[Finding]:
    """Every file that is not what the outputs say: missing, extra, stale, or edited by hand.

    It compares bytes; the index only tells a stale file from an edited one, and has to be right itself.
    """
    found: list[Finding] = []
    try:
        with SafeDir(root) as tree:
            if journal.is_pending(tree):
                found.append(at_file(INTERRUPTED, journal.ASIDE, "an earlier compile did not finish"))
            for output in outputs:
                found += [replace(one, cluster=output.cluster) for one in _unlike(tree, output)]
            for cluster in gone(tree, outputs) if all_clusters else ():
                message = f"{lock_file(cluster)} belongs to a cluster that no spec describes"
                found.append(replace(at_file(EXTRA, lock_file(cluster), message), cluster=cluster))
    except RefusedError as error:
        found.append(at_file(OUTSIDE, error.path, str(error)))
    except OSError as error:
        found.append(at_file(MISSING, "out", f"out/ cannot be read: {error.strerror or error}"))
    return found


def _unlike(tree: SafeDir, output: Output) -> Iterator[Finding]:
    wanted = output.files()
    index_file = lock_file(output.cluster)
    written = _written(tree, output.cluster)
    for file, text in sorted(wanted.items()):
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
            yield at_file(STALE_INDEX, file, f"{file} is not what the specs compile to")
        elif journal.digest(present) == written.get(file):
            yield at_file(STALE, file, f"{file} is what an older spec compiled to")
        else:
            yield at_file(EDITED, file, f"{file} was edited by hand")
    for top in TOPS:
        for file in tree.files(f"{top}/{output.cluster}"):
            if file not in wanted:
                whose = "is no longer compiled" if file in written else "was not written by gpuc"
                yield at_file(EXTRA, file, f"{file} {whose}")


def _written(tree: SafeDir, cluster: str) -> dict[str, str]:
    """The sha256 by file of what the index says was written; empty where it says nothing that holds."""
    index = tree.read(lock_file(cluster))
    try:
        return parse(index, cluster).sha256 if index is not None else {}
    except ValueError:
        return {}
