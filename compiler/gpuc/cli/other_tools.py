"""Answers to commands and options of other tools, such as kubectl, Helm and Terraform."""

from __future__ import annotations

from collections.abc import Collection

_APPLY = "gpuc does not change clusters: `gpuc compile` writes out/, and Argo CD applies out/ from Git"
_COMPARE = (
    "`gpuc plan` shows what the specs change in running clusters, and `gpuc check --fresh` reports files that "
    "`gpuc compile` would change"
)
_CHECK = "`gpuc check` checks the specs and writes no file"
_COMPILE = "`gpuc compile` writes the Kubernetes objects and Helm values"
_REMOVE = "to remove a cluster, remove its spec and run `gpuc compile`"
_COMMANDS = {
    "apply": _APPLY,
    "create": _APPLY,
    "deploy": _APPLY,
    "install": _APPLY,
    "sync": _APPLY,
    "upgrade": _APPLY,
    "changes": _COMPARE,
    "preview": _COMPARE,
    "status": _COMPARE,
    "dry-run": _CHECK,
    "test": f"{_CHECK}, and `gpuc rehearse` tests the output on a control plane",
    "validate": _CHECK,
    "verify": _CHECK,
    "vet": _CHECK,
    "build": _COMPILE,
    "generate": _COMPILE,
    "render": _COMPILE,
    "synth": _COMPILE,
    "template": _COMPILE,
    "delete": _REMOVE,
    "destroy": _REMOVE,
    "remove": _REMOVE,
    "uninstall": _REMOVE,
    "new": "`gpuc init` writes a new repository",
    "describe": "`gpuc explain RULE` explains a finding, and `gpuc catalog show NAME` shows an instance type or GPU",
    "show": "`gpuc catalog show NAME` shows an instance type, a GPU, an image and so on",
    "get": "`gpuc catalog` lists instance types, GPUs, images and versions",
    "list": "`gpuc catalog` lists instance types, GPUs, images and versions",
    "docs": "`gpuc schema` prints the schema of the spec, and `gpuc explain` explains the rules",
    "fmt": "gpuc does not format specs",
    "format": "gpuc does not format specs",
    "watch": "gpuc does not wait for changes; `gpuc check` is fast enough for each save in an editor",
}
_OPTIONS = {
    "--dry-run": "`gpuc check` checks the specs and writes no file",
    "--check": "`gpuc check --fresh` reports files that `gpuc compile` would change",
    "--diff": "`gpuc plan` shows what the specs change in running clusters",
    "--watch": _COMMANDS["watch"],
    "--json": "write --format json",
    "-o": "write --format FORMAT to print another format, or --output FORMAT=FILE to write a report",
    "--out": "write --into DIR",
    "--out-dir": "write --into DIR",
    "--output-dir": "write --into DIR",
    "-f": "write the path of the spec without an option",
    "--file": "write the path of the spec without an option",
    "--filename": "write the path of the spec without an option",
    "--cluster": "write the name of the cluster without an option",
    "--context": "gpuc does not connect to clusters",
    "--kubeconfig": "gpuc does not connect to clusters",
    "--all": "without an argument, gpuc reads all clusters",
    "-A": "without an argument, gpuc reads all clusters",
    "--silent": "write --quiet",
    "-s": "write --quiet",
    "--no-color": "set the environment variable NO_COLOR",
    "--no-colour": "set the environment variable NO_COLOR",
    "--version": "`gpuc version` prints the version",
    "-V": "`gpuc version` prints the version",
    "--verbose": "the report is complete; the environment variable GPUC_DEBUG=1 shows the cause of an internal error",
    "-v": "the report is complete; the environment variable GPUC_DEBUG=1 shows the cause of an internal error",
    "--force": "gpuc never overwrites files that it did not write; `gpuc explain WRT001` says what to do",
    "--Werror": "write --strict",
}
"""Options of other tools. An answer that names an option of gpuc applies only to commands that have the option."""
_SPEC_COMMANDS = {"compile", "check", "plan", "rehearse", "isolation", "trace"}
"""The commands whose arguments are specs."""


def command_hint(command: str) -> str:
    """Returns what to do instead of a command of another tool; an empty string for other words."""
    return _COMMANDS.get(command.lower(), "")


def option_hint(command: str, argument: str, known: Collection[str]) -> str:
    """Returns what to do instead of an option of another tool; an empty string for other arguments.

    Args:
        known: the options of the command.
    """
    hint = _OPTIONS.get(argument.partition("=")[0], "")
    if hint.startswith("write --") and hint.split()[1] not in known:
        return ""
    if hint.endswith("without an option") and command not in _SPEC_COMMANDS:
        return ""
    return hint
