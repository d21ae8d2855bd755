"""The argument parsers of plan and diff."""

from __future__ import annotations

from gpuc.cli import epilogs
from gpuc.cli.parser import Parser, add_formats, existing_folder
from gpuc.diagnostics.usage import LEVELS, PLAN_FORMATS


def plan_parser(command: str) -> Parser:
    """Returns the parser of plan. `PlanOptions` has the defaults."""
    parser = Parser(command, epilogs.PLAN)
    parser.add_argument(
        "specs",
        nargs="*",
        metavar="SPEC",
        help="a spec file or the name of a cluster (default: all clusters of both states)",
    )
    parser.add_argument(
        "--against",
        metavar="REV|DIR",
        help="the state before: a revision of the Git repository, or the folder of another checkout "
        "(default: the merge base of HEAD and the default branch of origin)",
    )
    _add_options(parser)
    parser.add_argument("--strict", action="store_true", help="exit with 1 if the spec accepts an impact that is gone")
    return parser


def diff_parser(command: str) -> Parser:
    """Returns the parser of diff. `DiffOptions` has the defaults."""
    parser = Parser(command, epilogs.PLAN)
    parser.add_argument("old", metavar="OLD", help="a file or folder with the manifests of the cluster before")
    parser.add_argument("new", metavar="NEW", help="a file or folder with the manifests of the cluster after")
    _add_options(parser)
    return parser


def _add_options(parser: Parser) -> None:
    parser.add_argument(
        "--workloads",
        type=existing_folder,
        metavar="DIR",
        help="a folder with objects that run in the cluster: the plan names those that the change would refuse",
    )
    parser.add_argument(
        "--fail-on",
        choices=LEVELS,
        metavar="LEVEL",
        help=f"exit with 1 for an impact of this level or a more dangerous one: {', '.join(LEVELS)}",
    )
    add_formats(parser, PLAN_FORMATS)
