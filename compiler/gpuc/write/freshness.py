"""Finds files in out/ and clusters/ that differ from the output of the current specs, for `gpuc check --fresh`."""

import os
from collections.abc import Collection, Iterator, Sequence

from msgspec.structs import replace

from gpuc.diagnostics.finding import Finding, rule_table
from gpuc.write import transaction
from gpuc.write.filesystem import RefusedError, SafeDir
from gpuc.write.lockfile import CONFLICT, TOPS, conflict_line, lock_file, parse
from gpuc.write.writer import OUTSIDE, Output, at_file, removed_clusters

rule_of = rule_table(__file__)
MISSING = rule_of("WRT006")
EXTRA = rule_of("WRT007")
STALE = rule_of("WRT008")
EDITED = rule_of("WRT009")
STALE_LOCK = rule_of("WRT010")
INTERRUPTED = rule_of("WRT011")


def freshness_findings(
    root: str | os.PathLike[str], outputs: Sequence[Output], *, clusters: Collection[str] | None = None
) -> list[Finding]:
    """Returns findings about files that differ from the outputs: missing, additional, out of date, or edited by hand.

    The function compares the bytes of the files. It uses gpuc.lock only to distinguish a file that is out of date from
    a file that was edited by hand.

    Args:
        root: the folder that contains out/ and clusters/.
        clusters: the names of all clusters of the fleet. Other clusters with a gpuc.lock are reported. None: report no
            other clusters.
    """
    findings: list[Finding] = []
    try:
        with SafeDir(root) as folder:
            if folder.entries(transaction.STAGING):
                findings.append(at_file(INTERRUPTED, transaction.STAGING, "an earlier compile did not finish"))
            for output in outputs:
                findings += [replace(finding, cluster=output.cluster) for finding in _differences(folder, output)]
            for cluster in removed_clusters(folder, clusters):
                message = f"{lock_file(cluster)} belongs to a cluster that no spec describes"
                findings.append(replace(at_file(EXTRA, lock_file(cluster), message), cluster=cluster))
    except RefusedError as error:
        findings.append(at_file(OUTSIDE, error.path, str(error)))
    except OSError as error:
        findings.append(at_file(MISSING, "out", f"out/ cannot be read: {error.strerror or error}"))
    return findings


def _differences(folder: SafeDir, output: Output) -> Iterator[Finding]:
    expected = output.files()
    lock = lock_file(output.cluster)
    digests = _digests(folder, output.cluster)
    for file, text in sorted(expected.items()):
        try:
            present = folder.read(file)
        except RefusedError as error:
            yield at_file(OUTSIDE, error.path, str(error))
            continue
        if present == text:
            continue
        if present is None:
            yield at_file(MISSING, file, f"{file} is missing")
        elif file == lock:
            line = conflict_line(present)
            yield at_file(STALE_LOCK, file, f"{file} {CONFLICT if line else 'is out of date'}", line or 1)
        elif transaction.digest(present) == digests.get(file):
            yield at_file(STALE, file, f"{file} is the output of an older version of the spec")
        else:
            yield at_file(EDITED, file, f"{file} was edited by hand")
    for top in TOPS:
        for file in folder.files(f"{top}/{output.cluster}"):
            if file not in expected:
                reason = "no longer belongs to the output" if file in digests else "was not written by gpuc"
                yield at_file(EXTRA, file, f"{file} {reason}")


def _digests(folder: SafeDir, cluster: str) -> dict[str, str]:
    """Returns the sha256 of each file in gpuc.lock; empty if gpuc.lock is missing or damaged."""
    lock = folder.read(lock_file(cluster))
    try:
        return parse(lock, cluster).sha256 if lock is not None else {}
    except ValueError:
        return {}
