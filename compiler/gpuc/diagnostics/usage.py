"""How gpuc is called: its commands, and mistakes in a call, which are one line to the user and exit code 2."""

from __future__ import annotations

SUMMARIES = {
    "compile": "Write out/ and clusters/ from the specs.",
    "check": "Report what compile would report, and write nothing.",
    "lint": "Judge Kubernetes YAML that gpuc did not write: files, folders, cluster dumps, Helm values.",
    "trace": "Walk one pod through admission, quota, flavor, node pool and node, before there is one.",
    "isolation": "Prove for every pair of tenants that no pod of one reaches a pod of the other.",
    "crds": "Import a cluster's own CustomResourceDefinitions for lint.",
    "rehearse": "Apply what compile would write to a real control plane on this machine, and try it.",
    "schema": "Print the JSON Schema of the spec language, for editors.",
    "explain": "Tell what a fault is and why it matters; without an id, list all faults.",
    "init": "Write a small fleet repository to start from.",
}
"""What each command does, in the order of the overview."""

LINT_FORMATS = ("text", "json")
"""How a lint can be reported."""
REHEARSAL_FORMATS = ("text", "json", "markdown")
"""How a rehearsal can be reported."""


class UsageError(Exception):
    """The command line cannot be carried out as it stands; its text says why, for the user."""
