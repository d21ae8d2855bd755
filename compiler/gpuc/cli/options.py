"""The options of compile, check, lint, rehearse, catalog and crds, with their defaults."""

from __future__ import annotations

from pathlib import Path


class Options:
    """The options of compile and check."""

    specs: list[str]
    """Spec files and cluster names; empty for all specs."""
    output: list[tuple[str, str]]
    """The reports to write: pairs of a format and a file."""
    into: Path | None = None
    """The folder for out/ and clusters/; None for the folder that contains specs/."""
    format: str = "text"
    strict: bool = False
    quiet: bool = False
    """Whether the text report on stdout contains only errors and warnings."""
    fresh: bool = False

    def __init__(self) -> None:
        self.output = []


class RehearsalOptions:
    """The options of rehearse."""

    specs: list[str]
    """Spec files and cluster names; empty for all specs."""
    case: list[str]
    """Patterns that select test cases; empty for all test cases."""
    output: list[tuple[str, str]]
    """The reports to write: pairs of a format and a file."""
    crds: Path | None = None
    """A folder of CustomResourceDefinitions that replace the definitions of the components."""
    charts: Path | None = None
    """A folder of charts from `helm pull`."""
    format: str = "text"
    keep: bool = False
    argocd: bool = False
    """Whether Argo CD applies the output instead of gpuc."""
    before: str | None = None
    """The revision or the folder of the state before; None to rehearse one state with test cases."""
    workloads: Path | None = None
    """A folder with the objects of users that run before the change; None for work that fills the quotas."""

    def __init__(self) -> None:
        self.case, self.output = [], []


class LintOptions:
    """The options of lint."""

    paths: list[str]
    """Files and folders."""
    kubernetes: str = "1.35"
    """The minor version of the cluster."""
    chart: str | None = None
    """The Helm chart of documents that are not Kubernetes objects; lint checks them as values of the chart."""
    crds: Path | None = None
    """A folder of schemas from `gpuc crds import`; these schemas take precedence over gpuc's own schemas."""
    format: str = "text"
    strict: bool = False


class CatalogOptions:
    """The options of catalog, with their defaults."""

    words: list[str]
    format: str = "text"
    source: str = "aws ec2 describe-instance-types"


class CrdsOptions:
    """The options of crds, with their defaults."""

    command: str
    """"import", the only command."""
    paths: list[str]
    """Files and folders with CustomResourceDefinitions."""
    into: str = "crds"
    """The folder for the schemas."""
