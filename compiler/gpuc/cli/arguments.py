"""The argument parsers of compile, check, lint, rehearse, tools, schema, explain and init."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from gpuc.diagnostics.report import FORMATS
from gpuc.diagnostics.spelling import did_you_mean
from gpuc.diagnostics.usage import LINT_FORMATS, REHEARSAL_FORMATS, SUMMARIES, UsageError

_EXIT_CODES = """exit codes:
  0  no errors (with --strict: no errors and no warnings)
  1  errors (with --strict: errors or warnings)
  2  the command line is wrong
  3  gpuc itself failed"""

_REHEARSAL_EXIT_CODES = """exit codes:
  0  all objects were applied and are healthy, and every test case passed
  1  an object was rejected or is not healthy, or a test case failed
  2  the command line is wrong, or a program of the control plane is missing
  3  gpuc itself or a program of the control plane failed"""

_INIT_EPILOG = """On a terminal, the command asks for options that are missing. Otherwise it uses their defaults.
Files that exist are not changed."""

_TOOLS_EPILOG = """Without an option, the command builds the control plane of `gpuc rehearse`. This takes a quarter of
an hour once, and requires Go, a Go module proxy (by default that of the Go project), and 15 GiB of disk. The command
builds only missing programs.
The programs are in the cache folder of the user, or in the folder that the environment variable GPUC_TOOLS names.

exit codes:
  0  the programs are ready
  1  a program cannot be built, or does not start
  2  the command line is wrong"""


class Parser(argparse.ArgumentParser):
    """The argument parser of a command. For wrong arguments, the parser raises UsageError and does not exit."""

    def __init__(self, command: str, epilog: str | None = None) -> None:
        super().__init__(
            prog=f"gpuc {command}",
            description=SUMMARIES[command],
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def parse(self, arguments: Sequence[str], namespace: Any = None) -> Any:
        """Parses options and positional arguments, in any order, and returns the namespace with their values.

        Args:
            namespace: the object that gets the values; None for a new object.

        Raises:
            UsageError: when an argument is unknown, wrong or missing.
        """
        parsed, unknown = self.parse_known_intermixed_args(list(arguments), namespace)
        if unknown:
            known = [name for action in self._actions for name in action.option_strings]
            raise UsageError(f"{self.prog} has no argument {unknown[0]}{did_you_mean(unknown[0], known)}")
        return parsed

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; `{self.prog} --help` shows the usage")


def parser_of(command: str) -> Parser:
    """Returns the parser of a command."""
    match command:
        case "explain":
            parser = Parser(command)
            parser.add_argument(
                "subject", nargs="?", metavar="SUBJECT",
                help="the id of a rule such as KUE007, or a field of the spec such as pools.nodes.max",
            )  # fmt: skip
        case "init":
            parser = _init_parser()
        case "schema":
            parser = Parser(command)
            parser.add_argument(
                "of", nargs="?", choices=("spec", "catalog"), default="spec",
                help="the schema of specs (default), or of the files in specs/catalog/",
            )  # fmt: skip
        case "lint":
            parser = _lint_parser()
        case "rehearse":
            parser = _rehearsal_parser()
        case "tools":
            parser = _tools_parser()
        case "catalog":
            parser = _catalog_parser()
        case _:
            parser = _run_parser(command)
    return parser


def _run_parser(command: str) -> Parser:
    """Returns the parser of compile and check. `Options` has the defaults."""
    parser = Parser(command, _EXIT_CODES)
    _add_specs(parser)
    parser.add_argument(
        "--into",
        type=_new_or_existing_folder,
        metavar="DIR",
        help="the folder for out/ and clusters/ (default: the root)",
    )
    _add_formats(parser, FORMATS)
    parser.add_argument("--strict", action="store_true", help="exit with 1 for warnings too")
    if command == "check":
        parser.add_argument(
            "--fresh",
            action="store_true",
            help="also report committed files in out/ and clusters/ that compile would change",
        )
    return parser


def _rehearsal_parser() -> Parser:
    """Returns the parser of rehearse. `RehearsalOptions` has the defaults."""
    parser = Parser("rehearse", _REHEARSAL_EXIT_CODES)
    _add_specs(parser)
    parser.add_argument(
        "--crds",
        type=_existing_folder,
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
        type=_existing_folder,
        metavar="DIR",
        help="with --argocd: a folder of charts from `helm pull`; Applications whose chart is missing are skipped",
    )
    _add_formats(parser, REHEARSAL_FORMATS)
    return parser


def _init_parser() -> Parser:
    from gpuc.cli.init_settings import Settings, questions

    parser = Parser("init", _INIT_EPILOG)
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


def _tools_parser() -> Parser:
    from gpuc.tools.selection import OTHERS

    parser = Parser("tools", _TOOLS_EPILOG)
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


def _catalog_parser() -> Parser:
    """Returns the parser of catalog. `CatalogOptions` has the defaults."""
    from gpuc.cli.catalog_command import EPILOG, CatalogOptions

    parser = Parser("catalog", EPILOG)
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="a subject, words to search, `show NAME`, `import FILE`"
    )
    parser.add_argument("--format", choices=("text", "json"), help="the format of the list (default: text)")
    parser.add_argument(
        "--source", metavar="TEXT", help=f"import: the source of the rows (default: {CatalogOptions.source})"
    )
    return parser


def _lint_parser() -> Parser:
    """Returns the parser of lint. `LintOptions` has the defaults."""
    parser = Parser("lint", _EXIT_CODES)
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
        "--crds", type=_existing_folder, metavar="DIR", help="a folder of schemas from `gpuc crds import`"
    )
    parser.add_argument("--format", choices=LINT_FORMATS, help="the format of the report (default: text)")
    parser.add_argument("--strict", action="store_true", help="exit with 1 for warnings too")
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


def _add_formats(parser: Parser, formats: Sequence[str]) -> None:
    parser.add_argument("--format", choices=formats, help=f"the format of the report (default: {formats[0]})")
    parser.add_argument(
        "--output",
        action="append",
        type=partial(_format_and_file, formats),
        metavar="FORMAT=FILE",
        help="also write a report to a file; may be repeated",
    )


def _existing_folder(argument: str) -> Path:
    path = Path(argument)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{argument} is not a folder")
    return path.absolute()


def _new_or_existing_folder(argument: str) -> Path:
    path = Path(argument)
    if path.exists() and not path.is_dir():
        raise argparse.ArgumentTypeError(f"{argument} is not a folder")
    return path.absolute()


def _format_and_file(formats: Sequence[str], argument: str) -> tuple[str, str]:
    """Parses FORMAT=FILE and returns the format and the file.

    Raises:
        argparse.ArgumentTypeError: when the format is unknown or the file is missing.
    """
    format, _, file = argument.partition("=")  # noqa: A001
    if format not in formats or not file:
        raise argparse.ArgumentTypeError(f"{argument} is not FORMAT=FILE; the formats are {', '.join(formats)}")
    return format, file
