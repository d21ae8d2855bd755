"""Paths of Gatekeeper's mutators that its webhook cannot parse, or that the kind of mutator cannot change.

Source: gatekeeper v3.23.0 pkg/mutation/path/token/scanner.go, pkg/mutation/path/parser/parser.go,
pkg/mutation/mutators: assign/assign_mutator.go, assignmeta/assignmeta_mutator.go
"""

import re
from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items

WRONG_PATH = rule_of("PLC009")
_NAME = r"""(?:[A-Za-z_-][\w-]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
_STEP = rf"{_NAME}\s*(?:\[\s*{_NAME}\s*:\s*(?:\*|\d+|{_NAME})\s*\]\s*)?"
_PATH = re.compile(rf"\s*(?:{_STEP}(?:\.\s*{_STEP})*)?", re.ASCII | re.DOTALL)
_OF_METADATA = re.compile(rf"\s*metadata\s*\.\s*(?:labels|annotations)\s*\.\s*{_NAME}\s*", re.ASCII | re.DOTALL)
_ROOT = re.compile(r"\s*metadata\s*(?:[.\[].*)?", re.ASCII | re.DOTALL)
_LOCATION: Path = ("spec", "location")
_KINDS = ("Assign", "AssignImage", "AssignMetadata", "ModifySet")


@check(WRONG_PATH, kinds=("mutations.gatekeeper.sh/*",))
def findings(objects: ObjectSet) -> Findings:
    """Yields a finding for every path of a mutator that the webhook refuses."""
    for mutator in (row for kind in _KINDS for row in objects.of("mutations.gatekeeper.sh", kind)):
        for path, text in _paths(mutator):
            if not _PATH.fullmatch(text):
                message = f'"{text}" is no path such as spec.containers[name: main].image'
                yield ObjectFinding(WRONG_PATH, mutator, path, message)
            elif mutator.kind == "AssignMetadata" and text and not _OF_METADATA.fullmatch(text):
                message = "AssignMetadata sets only metadata.labels.KEY and metadata.annotations.KEY"
                yield ObjectFinding(WRONG_PATH, mutator, path, message)
            elif mutator.kind == "Assign" and path == _LOCATION and _ROOT.fullmatch(text):
                yield ObjectFinding(WRONG_PATH, mutator, path, "Assign cannot change metadata; AssignMetadata can")


def _paths(mutator: Manifest) -> Iterator[tuple[Path, str]]:
    tests = (("spec", "parameters", "pathTests", number, "subPath") for number, _ in items(_tests(mutator)))
    for path in (_LOCATION, *tests):
        text = dig(mutator.body, *path)
        if isinstance(text, str):
            yield path, text


def _tests(mutator: Manifest) -> object:
    return dig(mutator.body, "spec", "parameters", "pathTests")
