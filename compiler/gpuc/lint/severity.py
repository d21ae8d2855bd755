"""Decides the severity of findings in the files of users.

A finding is an error if the API server, a controller or an admission policy refuses an object. The output of gpuc has
all objects of a cluster and follows one style, so further rules are errors there. In the files of users, these rules
are only warnings: another file may contain a missing object, or the users may have decided differently.
"""

from gpuc.diagnostics.finding import Severity
from gpuc.objects.object_finding import ObjectFinding

_JUDGEMENTS = {"PLC": (1, 2)}
"""Rules about constraints of Gatekeeper that Gatekeeper itself allows: the numbers of the rules, by topic."""
_IN_OTHER_FILES = {"PLC": (3, 5), "REF": (1, 2, 3, 4, 8, 10)}
"""Rules about a missing object or label that other files may have, unless the name is a misspelt name of the files."""


def severity(finding: ObjectFinding) -> Severity:
    """Returns the severity of a finding in files of users, which may not have all objects of a cluster."""
    topic, number = finding.rule.id[:3], int(finding.rule.id[3:])
    may_be_elsewhere = number in _IN_OTHER_FILES.get(topic, ()) and not finding.fix
    if number in _JUDGEMENTS.get(topic, ()) or may_be_elsewhere:
        return Severity.WARNING
    return finding.rule.severity
