"""What the user asks of compile, check and rehearse."""

from __future__ import annotations

from pathlib import Path


class Options:
    """The options of a run, with what holds where one is not given."""

    specs: list[str]
    """Spec files and cluster names; none stand for all of specs/."""
    output: list[tuple[str, str]]
    """Reports that go to files, as (format, file)."""
    into: Path | None = None
    """The folder that takes out/ and clusters/; None for the root."""
    format: str = "text"
    strict: bool = False
    fresh: bool = False

    def __init__(self) -> None:
        self.output = []


class RehearsalOptions:
    """The options of a rehearsal, with what holds where one is not given."""

    specs: list[str]
    """Spec files and cluster names; none stand for all of specs/."""
    case: list[str]
    """Patterns of test cases; all test cases if empty."""
    output: list[tuple[str, str]]
    """Reports that go to files, as (format, file)."""
    crds: Path | None = None
    """A folder of CustomResourceDefinitions that go before those of the programs."""
    charts: Path | None = None
    """A folder of charts as `helm pull` writes them."""
    format: str = "text"
    keep: bool = False
    argocd: bool = False
    """Whether Argo CD applies the output, instead of the rehearsal itself."""

    def __init__(self) -> None:
        self.case, self.output = [], []


class LintOptions:
    """The options of lint, with what holds where one is not given."""

    paths: list[str]
    """Files and folders."""
    kubernetes: str = "1.35"
    chart: str | None = None
    """The chart whose values the maps are that are no objects."""
    crds: Path | None = None
    """Tables that `gpuc crds import` wrote: they go before gpuc's own."""
    format: str = "text"
    strict: bool = False
