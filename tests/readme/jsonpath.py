"""Templates of `kubectl -o jsonpath` and paths of `-o custom-columns`, parsed.

Source of the syntax: Kubernetes v1.35.4, staging/src/k8s.io/client-go/util/jsonpath/parser.go, and for custom-columns
staging/src/k8s.io/kubectl/pkg/cmd/get/customcolumn.go, which splits the columns at each comma.
"""

import re
from collections.abc import Iterator

Path = tuple[str, ...]
"""Names of fields; `*` for an item of a list or map. A path inside of a `range` begins with the path of the range."""
_FIELD = re.compile(r"\.((?:\\.|[A-Za-z0-9_/-])+)")
_INDEX = re.compile(r"\[(?:'([^']+)'|\"([^\"]+)\"|(\*)|-?\d*(?::-?\d*){0,2}|-?\d+(?:,-?\d+)*)\]")
_FILTER = re.compile(
    r"\[\?\((?P<left>@[^=<>!~]*?)\s*(?:(?:==|!=|<=|>=|<|>)\s*(?P<right>\"[^\"]*\"|'[^']*'|[\d.]+|true|false))?\)\]"
)
_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")


class PathProblem(Exception):
    """A template that kubectl does not accept."""


def template_paths(template: str) -> list[Path]:
    """The paths in a template such as `{range .items[*]}{.metadata.name}{"\\n"}{end}`.

    Raises:
        PathProblem: if kubectl does not accept the template.
    """
    if "{" not in template:
        template = f"{{{template}}}"  # kubectl adds the braces
    ranges: list[Path] = []
    found: list[Path] = []
    for action in _actions(template):
        if action == "end":
            if not ranges:
                raise PathProblem(f"{template} has an {{end}} without a {{range}}")
            ranges.pop()
        elif _TEXT.fullmatch(action):
            continue
        else:
            is_range = action.startswith("range ")
            paths = path(action.removeprefix("range ").strip(), ranges[-1] if ranges else ())
            found += paths
            if is_range:
                ranges.append(paths[-1])
    if ranges:
        raise PathProblem(f"{template} has a {{range}} without an {{end}}")
    return found


def column_paths(columns: str) -> list[Path]:
    """The paths in the columns `HEADER:PATH,HEADER:PATH`.

    Raises:
        PathProblem: if kubectl does not accept the columns.
    """
    found = []
    for column in columns.split(","):
        header, sign, text = column.partition(":")
        if not header or not sign or not text:
            raise PathProblem(f"custom-columns: {column} is not HEADER:PATH")
        text = text.removeprefix("{").removesuffix("}")
        found += path(text if text.startswith((".", "[")) else f".{text}", ())
    return found


def path(text: str, current: Path) -> list[Path]:
    """The paths in one expression: those of its filters, then the path itself.

    Args:
        text: for example `.items[?(@.status.nodeName=="NODE")].metadata.name`.
        current: the path of `@`.
    """
    found: list[Path] = []
    steps, at = list(current), 0
    if text[:1] in ("$", "@"):
        steps, at = ([] if text[0] == "$" else steps), 1
    while at < len(text):
        match = _FIELD.match(text, at) or _INDEX.match(text, at) or _FILTER.match(text, at)
        if match is None:
            raise PathProblem(f"{text}: cannot read {text[at:]}")
        if match.re is _FIELD:
            steps.append(re.sub(r"\\(.)", r"\1", match[1]))
        elif match.re is _INDEX:
            steps.append(match[1] or match[2] or "*")
        else:
            steps.append("*")
            found += path(match["left"].strip(), tuple(steps))
        at = match.end()
    return [*found, tuple(steps)]


def _actions(template: str) -> Iterator[str]:
    """Yields the texts in braces."""
    at = 0
    while (start := template.find("{", at)) >= 0:
        at = start + 1
        while at < len(template) and template[at] != "}":
            text = _TEXT.match(template, at)
            at = text.end() if text else at + 1
        if at >= len(template):
            raise PathProblem(f"{template} has no closing brace")
        yield template[start + 1 : at].strip()
        at += 1
