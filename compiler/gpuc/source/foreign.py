"""Finds Kubernetes objects in specs/ that gpuc ignores because they are not in a folder manifests/."""

import pathlib
from collections.abc import Iterator

from gpuc.diagnostics.finding import Finding, StageError, rule_table
from gpuc.documents.composer import Node
from gpuc.documents.fleet_files import KIND_LINE, MANIFESTS, yaml_files
from gpuc.source.document import compose
from gpuc.source.encoding import text_of
from gpuc.source.layers import object_kind

rule_of = rule_table(__file__)
NOT_READ = rule_of("LAY011")


def objects_in_specs(root: pathlib.Path) -> Iterator[Finding]:
    """Yields a finding for each file in specs/ that is a Kubernetes object.

    Args:
        root: the folder that contains specs/.
    """
    for file in yaml_files(root):
        document = _unknown_document(root, file)
        if document and (kind := object_kind(document)):
            message = f"gpuc does not read this {kind}: the file is in specs/ and not in a folder {MANIFESTS}/"
            fix = f"move the file to specs/<cluster>/{MANIFESTS}/"
            yield NOT_READ.at((), message, fix=fix, mark=document.value["kind"].mark)


def _unknown_document(root: pathlib.Path, file: str) -> Node | None:
    """Returns the content of a file that is neither a cluster nor a layer; None also if the file cannot be parsed."""
    try:
        if KIND_LINE.search((root / file).read_bytes()):
            return None
        return compose(text_of(root / file, file)[0], file)[0]
    except (StageError, OSError):
        return None
