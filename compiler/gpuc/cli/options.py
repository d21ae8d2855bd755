"""The options of compile, check, lint and rehearse, with their defaults."""

from __future__ import annotations

from pathlib import Path


class Options:
    """The options of compile and check."""

    specs: list[str]
    """Spec files and cluster names; empty for all of specs/."""
    output: list[tuple[str, str]]
    """Reports to write to files, as (format, file)."""
    into: Path | None = None
    """The folder for out/ and clusters/; None for the root."""
    format: str = "text"
    strict: bool = False
    fresh: bool = False

    def __init__(self) -> None:
        self.output = []


class RehearsalOptions:
    """The options of rehearse."""

    specs: list[str]
    """Spec files and cluster names; empty for all of specs/."""
    case: list[str]
    """Patterns for test cases; empty for all."""
    output: list[tuple[str, str]]
    """Reports to write to files, as (format, file)."""
    crds: Path | None = None
    """A folder of CustomResourceDefinitions that replace those of the components."""
    charts: Path | None = None
    """A folder of charts from `helm pull`."""
    format: str = "text"
    keep: bool = False
    argocd: bool = False
    """Whether Argo CD applies the output instead of gpuc."""

    def __init__(self) -> None:
        self.case, self.output = [], []


class LintOptions:
    """The options of lint."""

    paths: list[str]
    """Files and folders."""
    kubernetes: str = "1.35"
    """The minor version of the cluster."""
    chart: str | None = None
    """The component whose Helm values the documents without a kind are."""
    crds: Path | None = None
    """A folder of schemas from `gpuc crds import`; they take precedence over gpuc's own schemas."""
    format: str = "text"
    strict: bool = False
