"""The options of each command, as argparse reads them."""

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
  0  no findings of severity error (with --strict: of warning neither)
  1  findings
  2  the command line cannot be carried out
  3  gpuc itself failed"""

_REHEARSAL_EXIT_CODES = """exit codes:
  0  everything was applied, is healthy, and every test case (with --argocd: every edit) had the expected outcome
  1  something did not
  2  the command line cannot be carried out, or programs are missing
  3  gpuc itself or a program of the control plane failed"""


class Parser(argparse.ArgumentParser):
    """A parser of one command that raises where argparse would print and exit.

    Raises:
        UsageError: from parse, for arguments that the command does not take.
    """

    def __init__(self, command: str, epilog: str | None = None) -> None:
        super().__init__(
            prog=f"gpuc {command}",
            description=SUMMARIES[command],
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def parse(self, words: Sequence[str], namespace: Any = None) -> Any:
        """The namespace (a new one if none is given) with every argument, in whatever order they came."""
        found, rest = self.parse_known_intermixed_args(list(words), namespace)
        if rest:
            known = [name for action in self._actions for name in action.option_strings]
            raise UsageError(f"{self.prog} takes no argument {rest[0]}{did_you_mean(rest[0], known)}")
        return found

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; `{self.prog} --help` shows the usage")


def parser_of(command: str) -> Parser:
    """The parser of a command's arguments."""
    match command:
        case "explain":
            parser = Parser(command)
            parser.add_argument("id", nargs="?", metavar="ID", help="the id of a fault, for example KUE004")
        case "init":
            parser = Parser(command)
            parser.add_argument("directory", metavar="DIR", help="where to; no file is ever overwritten")
        case "schema":
            parser = Parser(command)
        case "lint":
            parser = _lint_parser()
        case "rehearse":
            parser = _rehearsal_parser()
        case _:
            parser = _run_parser(command)
    return parser


def _run_parser(command: str) -> Parser:
    """The parser of compile and check, whose defaults are those of Options."""
    parser = Parser(command, _EXIT_CODES)
    _add_specs(parser)
    parser.add_argument("--into", type=_folder, metavar="DIR", help="put out/ and clusters/ beneath DIR")
    _add_formats(parser, FORMATS)
    parser.add_argument("--strict", action="store_true", help="exit with 1 for warnings too")
    if command == "check":
        parser.add_argument(
            "--fresh",
            action="store_true",
            help="also find files of out/ and clusters/ that differ from the specs",
        )
    return parser


def _rehearsal_parser() -> Parser:
    """The parser of rehearse, whose defaults are those of RehearsalOptions."""
    parser = Parser("rehearse", _REHEARSAL_EXIT_CODES)
    _add_specs(parser)
    parser.add_argument(
        "--crds", type=_existing_folder, metavar="DIR", help="CustomResourceDefinitions to use before the programs' own"
    )
    parser.add_argument(
        "--case",
        action="append",
        metavar="PATTERN",
        help="run only test cases whose 'suite/name' matches: a glob, or a part of it; may be repeated",
    )
    parser.add_argument("--scene", action="append", dest="case", help=argparse.SUPPRESS)  # the old name of --case
    parser.add_argument("--keep", action="store_true", help="leave the control plane up until Ctrl-C, for kubectl")
    parser.add_argument(
        "--argocd",
        action="store_true",
        help="let the real Argo CD apply the output from a Git repository, and run edits instead of test cases; "
        "needs `make tools-argocd`; specs of another cluster than Argo CD's share one Argo CD",
    )
    parser.add_argument(
        "--charts",
        type=_existing_folder,
        metavar="DIR",
        help="with --argocd: charts as `helm pull` writes them; an Application whose chart is missing is left out",
    )
    _add_formats(parser, REHEARSAL_FORMATS)
    return parser


def _lint_parser() -> Parser:
    """The parser of lint, whose defaults are those of LintOptions."""
    parser = Parser("lint", _EXIT_CODES)
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="a YAML file, or a folder whose objects are judged together"
    )
    parser.add_argument("--kubernetes", metavar="VERSION", help="minor version of the cluster (default: 1.35)")
    parser.add_argument(
        "--chart", type=_chart, metavar="NAME=VERSION", help="take maps that are no objects for values of this chart"
    )
    parser.add_argument("--crds", type=_existing_folder, metavar="DIR", help="tables that `gpuc crds import` wrote")
    parser.add_argument("--format", choices=LINT_FORMATS, help="what to print (default: text)")
    parser.add_argument("--strict", action="store_true", help="exit with 1 for warnings too")
    return parser


def _chart(word: str) -> str:
    """The name of a chart, if its values are known in that version."""
    from gpuc.catalog import load
    from gpuc.catalog.schemas import chart

    name, _, version = word.partition("=")
    rows = [row for rows in load().releases.values() for row in rows.values() if chart(row.component) is not None]
    if not any(row.component == name and version in ("", row.version) for row in rows):
        known = ", ".join(sorted({f"{row.component}={row.version}" for row in rows}))
        raise argparse.ArgumentTypeError(f"no values of {word} are known: {known}")
    return name


def _add_specs(parser: Parser) -> None:
    parser.add_argument(
        "specs",
        nargs="*",
        metavar="SPEC",
        help="a spec file or the name of its cluster (default: all of specs/)",
    )


def _add_formats(parser: Parser, formats: Sequence[str]) -> None:
    parser.add_argument("--format", choices=formats, help=f"what to print (default: {formats[0]})")
    parser.add_argument(
        "--output",
        action="append",
        type=partial(_target, formats),
        metavar="FORMAT=FILE",
        help="write a report to a file too; may be repeated",
    )


def _existing_folder(word: str) -> Path:
    path = Path(word)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{word} is not a folder")
    return path.absolute()


def _folder(word: str) -> Path:
    path = Path(word)
    if path.exists() and not path.is_dir():
        raise argparse.ArgumentTypeError(f"{word} is not a folder")
    return path.absolute()


def _target(formats: Sequence[str], word: str) -> tuple[str, str]:
    """(format, file)"""
    format, _, file = word.partition("=")  # noqa: A001
    if format not in formats or not file:
        raise argparse.ArgumentTypeError(f"{word} is not FORMAT=FILE with one of {', '.join(formats)}")
    return format, file
