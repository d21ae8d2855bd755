"""The argument parsers of all commands. This module loads neither the spec nor the pipeline."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from gpuc.cli import epilogs
from gpuc.cli.parser import Parser, add_formats, existing_folder, new_or_existing_folder
from gpuc.cli.plan_arguments import diff_parser, plan_parser
from gpuc.diagnostics.report import FORMATS
from gpuc.diagnostics.usage import LINT_FORMATS, REHEARSAL_FORMATS, SHELLS, SUMMARIES


def parser_of(command: str) -> Parser:
    """Returns the parser of a command, which is a key of SUMMARIES."""
    return _PARSERS[command](command)


def _compile_parser(command: str) -> Parser:
    """Returns the parser of compile and check. `Options` has the defaults."""
    parser = Parser(command, epilogs.EXIT_CODES)
    _add_specs(parser)
    parser.add_argument(
        "--into",
        type=new_or_existing_folder,
        metavar="DIR",
        help="the folder for out/ and clusters/ (default: the root)",
    )
    add_formats(parser, FORMATS)
    parser.add_argument("--strict", action="store_true", help="exit with 1 for warnings too")
    parser.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="print only errors and warnings, and nothing without them; other formats and files stay complete",
    )
    if command == "check":
        parser.add_argument(
            "--fresh",
            action="store_true",
            help="also report committed files in out/ and clusters/ that compile would change",
        )
    return parser


def _specs_parser(command: str) -> Parser:
    """Returns the parser of specs. `SpecsOptions` has the defaults."""
    parser = Parser(command)
    parser.add_argument(
        "--changed",
        metavar="REV|DIR",
        help="only the clusters whose specs, layers, manifests, policies, catalog rows or output differ from a "
        "revision of the Git repository, or from the folder of another checkout",
    )
    parser.add_argument("--format", choices=("text", "json"), help="the format of the list (default: text)")
    return parser


def _rehearsal_parser(command: str) -> Parser:
    """Returns the parser of rehearse. `RehearsalOptions` has the defaults."""
    parser = Parser(command, epilogs.REHEARSAL_EXIT_CODES)
    _add_specs(parser)
    parser.add_argument(
        "--crds",
        type=existing_folder,
        metavar="DIR",
        help="a folder of CustomResourceDefinitions that replace those of the components",
    )
    parser.add_argument(
        "--case",
        action="append",
        metavar="PATTERN",
        help="run only test cases whose 'suite/name' matches the glob or contains the text; may be repeated",
    )
    parser.add_argument("--scene", action="append", dest="case", help=argparse.SUPPRESS)  # the old name of --case
    parser.add_argument("--keep", action="store_true", help="keep the control plane running until Ctrl-C, for kubectl")
    parser.add_argument(
        "--argocd",
        action="store_true",
        help="let Argo CD apply the output from a Git repository, and test edits of the specs instead of the test "
        "cases; requires `gpuc tools --argocd`",
    )
    parser.add_argument(
        "--charts",
        type=existing_folder,
        metavar="DIR",
        help="with --argocd: a folder of charts from `helm pull`; Applications whose chart is missing are skipped",
    )
    parser.add_argument(
        "--from",
        dest="before",
        metavar="REV|DIR",
        help="apply the specs of a revision or folder, fill them with work, apply the present specs, and report what "
        "happens to each node and workload",
    )
    parser.add_argument(
        "--workloads",
        type=existing_folder,
        metavar="DIR",
        help="with --from: objects of users that run before the change, instead of work that fills the quotas",
    )
    add_formats(parser, REHEARSAL_FORMATS)
    return parser


def _init_parser(command: str) -> Parser:
    from gpuc.cli.init_settings import Settings, questions

    parser = Parser(command, epilogs.INIT)
    parser.add_argument("directory", nargs="?", default=".", metavar="FOLDER", help="the repository (default: .)")
    parser.add_argument(
        "--minimal",
        action="store_true",
        help="write a spec with one node pool, without tenants, queues and policies",
    )
    for question in questions():
        default = getattr(Settings, question.field)
        parser.add_argument(
            question.option,
            metavar=question.metavar,
            help=f"{question.text}: {question.expected}" + f" (default: {default})" * bool(default),
        )
    return parser


def _tools_parser(command: str) -> Parser:
    from gpuc.tools.selection import OTHERS

    parser = Parser(command, epilogs.TOOLS)
    other = parser.add_mutually_exclusive_group()
    for name, selection in OTHERS.items():
        other.add_argument(
            f"--{name}",
            dest="selection",
            action="store_const",
            const=name,
            help=f"instead of the control plane: {selection.purpose}",
        )
    parser.add_argument("--list", action="store_true", help="build nothing; list the programs, versions and sizes")
    parser.add_argument("--where", action="store_true", help="build nothing; print the folder of the programs")
    return parser


def _catalog_parser(command: str) -> Parser:
    """Returns the parser of catalog. `CatalogOptions` has the defaults."""
    from gpuc.cli.options import CatalogOptions

    parser = Parser(command, epilogs.CATALOG)
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="a subject, words to search, `show NAME`, `import FILE`"
    )
    parser.add_argument("--format", choices=("text", "json"), help="the format of the list (default: text)")
    parser.add_argument(
        "--source", metavar="TEXT", help=f"import: the source of the rows (default: {CatalogOptions.source})"
    )
    return parser


def _lint_parser(command: str) -> Parser:
    """Returns the parser of lint. `LintOptions` has the defaults."""
    parser = Parser(command, epilogs.EXIT_CODES)
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="a YAML file, - for stdin, or a folder whose objects are checked together",
    )
    parser.add_argument("--kubernetes", metavar="VERSION", help="the minor version of the cluster (default: 1.35)")
    parser.add_argument(
        "--chart",
        type=_chart,
        metavar="NAME=VERSION",
        help="treat YAML documents that are not Kubernetes objects as values of this Helm chart",
    )
    parser.add_argument(
        "--crds", type=existing_folder, metavar="DIR", help="a folder of schemas from `gpuc crds import`"
    )
    parser.add_argument("--format", choices=LINT_FORMATS, help="the format of the report (default: text)")
    parser.add_argument("--strict", action="store_true", help="exit with 1 for warnings too")
    return parser


def _trace_parser(command: str) -> Parser:
    """Returns the parser of trace. `TraceOptions` has the defaults."""
    parser = Parser(command, epilogs.TRACE)
    parser.add_argument(
        "inputs", nargs="*", metavar="SPEC|PATH", help="a spec, or manifests (default: the only spec in specs/)"
    )
    parser.add_argument(
        "-f", "--file", metavar="FILE", help="trace the workloads in this file: Pod, Job, JobSet and so on"
    )
    parser.add_argument("--queue", metavar="NAME", help="the LocalQueue of the workload")
    parser.add_argument("--namespace", metavar="NAME", help="the namespace (default: the first with the LocalQueue)")
    parser.add_argument("--pool", metavar="NAME", help="the flavor that the pods select (default: Kueue chooses)")
    parser.add_argument("--priority", metavar="NAME", help="the WorkloadPriorityClass of the workload")
    parser.add_argument("--gpus", type=int, metavar="N", help="the nvidia.com/gpu request of each pod")
    parser.add_argument("--efa", type=int, metavar="N", help="the number of EFA interfaces of each pod")
    parser.add_argument("--cpu", metavar="QUANTITY", help="the CPU request of each pod (default: from the LimitRange)")
    parser.add_argument(
        "--memory", metavar="QUANTITY", help="the memory request of each pod (default: from the LimitRange)"
    )
    parser.add_argument(
        "--resource", action="append", metavar="NAME=QUANTITY", help="the request of another resource; may be repeated"
    )
    parser.add_argument("--pods", type=int, metavar="N", help="the number of pods (default: 1)")
    parser.add_argument("--format", choices=("text", "json"), help="the format of the report (default: text)")
    return parser


def _isolation_parser(command: str) -> Parser:
    parser = Parser(command, epilogs.ISOLATION_EXIT_CODES)
    parser.add_argument(
        "inputs",
        nargs="*",
        metavar="SPEC|PATH",
        help="a spec, a cluster name, or manifest files and folders (default: specs/)",
    )
    parser.add_argument("--format", choices=("text", "json"), help="the format of the report (default: text)")
    parser.add_argument(
        "--tenant-label", metavar="KEY", help="the namespace label with the tenant's name (default: gpuc.dev/tenant)"
    )
    parser.add_argument(
        "--pod-cidrs", metavar="CIDR,...", help="the IP ranges of pods, for manifest files; a spec declares its own"
    )
    return parser


def _prerequisites_parser(command: str) -> Parser:
    """Returns the parser of prerequisites. `PrerequisitesOptions` has the defaults."""
    parser = Parser(command, epilogs.PREREQUISITES_EXIT_CODES)
    parser.add_argument("spec", nargs="?", metavar="SPEC", help="a spec or a cluster name (default: the only cluster)")
    parser.add_argument("--format", choices=("text", "json"), help="the format of the list (default: text)")
    return parser


def _crds_parser(command: str) -> Parser:
    """Returns the parser of crds. `CrdsOptions` has the defaults."""
    parser = Parser(command, epilogs.CRDS, usage="gpuc crds import FILE|DIR... [--into DIR]")
    parser.add_argument("command", choices=("import",), metavar="import", help="the only command")
    parser.add_argument("paths", nargs="+", metavar="FILE|DIR", help="a YAML or JSON file, or a folder")
    parser.add_argument(
        "--into",
        metavar="DIR",
        help="the folder for the schemas (default: crds/); schemas of the same kind and version are replaced",
    )
    return parser


def _schema_parser(command: str) -> Parser:
    parser = Parser(command)
    parser.add_argument(
        "of",
        nargs="?",
        choices=("spec", "catalog", "plan"),
        default="spec",
        help="the schema of specs (default), of the files in specs/catalog/, or of the JSON report of plan and diff",
    )
    return parser


def _explain_parser(command: str) -> Parser:
    parser = Parser(command)
    parser.add_argument(
        "subject", nargs="?", metavar="SUBJECT",
        help="the id of a rule such as KUE007, or a field of the spec such as pools.nodes.max",
    )  # fmt: skip
    return parser


def _completion_parser(command: str) -> Parser:
    parser = Parser(command, epilogs.COMPLETION)
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    return parser


def _help_parser(command: str) -> Parser:
    parser = Parser(command)
    parser.add_argument("command", nargs="?", choices=tuple(SUMMARIES), metavar="COMMAND", help="a command of gpuc")
    return parser


def _chart(argument: str) -> str:
    """Parses NAME=VERSION, or NAME for any version, and returns the name of the chart.

    Raises:
        argparse.ArgumentTypeError: when gpuc has no schema for the Helm values of this chart and version.
    """
    from gpuc.catalog import load
    from gpuc.catalog.schemas import chart

    name, _, version = argument.partition("=")
    rows = [row for rows in load().releases.values() for row in rows.values() if chart(row.component) is not None]
    if not any(row.component == name and version in ("", row.version) for row in rows):
        known = ", ".join(sorted({f"{row.component}={row.version}" for row in rows}))
        raise argparse.ArgumentTypeError(f"gpuc has no schema for the Helm values of {argument}; known: {known}")
    return name


def _add_specs(parser: Parser) -> None:
    parser.add_argument(
        "specs",
        nargs="*",
        metavar="SPEC",
        help="a spec file or the name of a cluster (default: all clusters in specs/)",
    )


_PARSERS: dict[str, Callable[[str], Parser]] = {
    "compile": _compile_parser,
    "check": _compile_parser,
    "plan": plan_parser,
    "diff": diff_parser,
    "specs": _specs_parser,
    "lint": _lint_parser,
    "trace": _trace_parser,
    "isolation": _isolation_parser,
    "prerequisites": _prerequisites_parser,
    "crds": _crds_parser,
    "catalog": _catalog_parser,
    "rehearse": _rehearsal_parser,
    "tools": _tools_parser,
    "schema": _schema_parser,
    "explain": _explain_parser,
    "init": _init_parser,
    "completion": _completion_parser,
    "help": _help_parser,
    "version": Parser,
}
