"""Recognizes a finding in a later commit, for baselines and for the alerts of GitHub code scanning."""

import os
import re
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256

from gpuc.diagnostics.report.result import ReportRow


def fingerprints(rows: Iterable[ReportRow], prefix: str) -> list[str]:
    """Returns a hash and a counter for each finding. They stay the same if the finding moves or a number changes.

    The hash covers the rule id, the file and the spec path. If a finding has no path, the hash covers the message,
    which contains the object and the field. In the message, the hash ignores numbers after the name of the object, and
    the text after a semicolon. The counter distinguishes findings with equal hashes.

    Args:
        prefix: the path of the root in its repository, so that the hash does not depend on the folder of the command.
    """
    counts: Counter[str] = Counter()
    prints = []
    for row in rows:
        finding = row.finding
        subject, separator, text = finding.message.partition(": ")
        about = row.path or subject + separator + re.sub(r"\d+", "#", text.partition(";")[0])
        file = in_repository(finding.mark.file, prefix) if finding.mark else finding.cluster
        digest = sha256("\0".join((finding.id, file, about)).encode("utf-8", "backslashreplace")).hexdigest()[:16]
        counts[digest] += 1
        prints.append(f"{digest}:{counts[digest]}")
    return prints


def in_repository(file: str, prefix: str) -> str:
    """Returns the path of a file relative to its repository. The input can also be an absolute path or "./file"."""
    return os.path.normpath(prefix + (os.path.relpath(file) if os.path.isabs(file) else file))
