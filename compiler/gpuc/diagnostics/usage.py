"""The commands of gpuc, and the exception for a command line that gpuc cannot execute."""

from __future__ import annotations

SUMMARIES = {
    "compile": "Compile the specs and write the Kubernetes objects and Helm values into out/ and clusters/.",
    "check": "Check the specs and report every finding. Writes no file.",
    "plan": "Show what the specs change in running clusters, compared with a revision: impacts, costs and objects.",
    "diff": "Show what a change of manifests does to a running cluster, without a spec.",
    "specs": "List the clusters of the fleet, or those whose files differ from a revision.",
    "lint": "Check Kubernetes YAML from other sources: files, folders, cluster dumps and Helm values.",
    "trace": "Predict whether a pod will be scheduled: admission, quota, flavor, node pool and node.",
    "isolation": "Prove that no pod of a tenant can reach a pod of another tenant over the network.",
    "prerequisites": "List what a cluster needs from outside of the output, with commands that check it.",
    "crds": "Import CustomResourceDefinitions, so that lint can check objects of these kinds.",
    "catalog": "List, search and show what gpuc knows: instance types, GPUs, images, versions, prices.",
    "rehearse": "Apply the compiled output to a real control plane on this machine and test it.",
    "tools": "Build the programs of the rehearsal from source, with Go.",
    "schema": "Print the JSON Schema of the spec, for editors.",
    "explain": "Explain a rule with examples, or a field of the spec. Without an argument, list all rules.",
    "init": "Write the files of a repository with one small cluster, and of its CI workflows.",
    "completion": "Print the script with which bash, zsh or fish completes the arguments of gpuc.",
    "help": "Show the commands of gpuc, or the arguments of a command.",
    "version": "Print the version of gpuc.",
}
"""A summary of each command, in the order of `gpuc --help`."""

SHELLS = ("bash", "zsh", "fish")
"""The shells with completion."""
LINT_FORMATS = ("text", "json", "github")
"""The formats of lint's report."""
PLAN_FORMATS = ("text", "markdown", "json")
"""The formats of the reports of plan and diff."""
LEVELS = ("destroys", "disrupts", "restricts", "costs", "none")
"""The levels of impacts, the most dangerous first."""
REHEARSAL_FORMATS = ("text", "json", "markdown")
"""The formats of rehearse's report."""


class UsageError(Exception):
    """gpuc cannot execute the command line. The text is the reason, in one line for the user. The exit code is 2."""
