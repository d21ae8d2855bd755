"""Only the folders of substrates name their cloud and their autoscaler, except the catalog and readers of files."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT

PACKAGE = ROOT / "compiler/gpuc"
REHEARSAL = ROOT / "rehearsal/gpuc_rehearsal"
NAMES = re.compile(r"\b(AWS|EC2|EKS|Karpenter)\b|\b(aws|ec2|eks|karpenter)(?![a-z])", re.ASCII)
SOURCE = re.compile(r"(source ?= ?|Source: |Sources: ).*?(?=\n\s*\n|\"\"\"|$)", re.DOTALL)
"""A citation: the projects whose behaviour a module repeats."""
COMMENT = re.compile(r"^ *#.*$", re.MULTILINE)
"""A comment in YAML."""
SUFFIXES = (".py", ".j2", ".toml", ".rows")
DATA = {
    "substrates": "the folders of the substrates",
    "catalog": "the rows of the catalog and their records",
    "pipeline/ec2_rows.py": "rows of the catalog from the EC2 API",
    "pipeline/rules.toml": "rules about these rows",
    "pipeline/price_rows.py": "rows of the catalog from the price list",
    "spec/facts.py": "the rows of a fleet",
    "cli/catalog_details.py": "shows rows of the catalog",
    "cli/catalog_entries.py": "shows rows of the catalog",
    "cli/catalog_import.py": "imports rows of the catalog",
    "source/moved.py": "the old places of fields, which one release reads",
}
OF_REHEARSAL = {
    "substrates": "the folders of the substrates",
    "tools": "programs of the rehearsal, with their projects",
}
FILES_OF_USERS = {
    "admission": "webhooks in files of users",
    "cluster": "node pools in files of users",
    "isolation": "permissions and addresses in files of users",
    "kubernetes": "labels, taints and API groups in files of users",
    "lint": "files of users",
    "needs": "objects and Helm values, also of users",
    "objects": "files of users",
    "trace": "files of users",
    "verify": "objects, also of users",
}
REMAINING: dict[str, int] = {}
"""By package, the number of other files that still name them. The numbers only become smaller."""


def named(package: Path = PACKAGE) -> Iterator[str]:
    """Yields the files with a name outside of citations, relative to the package."""
    for file in sorted(package.rglob("*")):
        if file.suffix in SUFFIXES and NAMES.search(SOURCE.sub("", file.read_text("utf-8"))):
            yield file.relative_to(package).as_posix()


def place(file: str, places: set[str]) -> str:
    """The entry of a file: itself, or the package that contains it; empty without an entry."""
    parents = [parent.as_posix() for parent in Path(file).parents]
    return next((entry for entry in (file, *parents) if entry in places), "")


def test_only_known_places_name_a_cloud_or_an_autoscaler() -> None:
    others = Counter(file.partition("/")[0] for file in named() if not place(file, {*DATA, *FILES_OF_USERS}))
    assert others == REMAINING


def test_only_substrates_and_programs_of_the_rehearsal_name_them() -> None:
    files = list(named(REHEARSAL))
    assert [file for file in files if not place(file, {*OF_REHEARSAL})] == []
    assert [file for file in files if file.startswith("substrates/") and not file.startswith("substrates/eks")] == []
    sentences = REHEARSAL.rglob("*.yaml")
    assert {file.parent.name for file in sentences if NAMES.search(COMMENT.sub("", file.read_text()))} == {"eks"}


def test_no_entry_is_superfluous() -> None:
    places = {*DATA, *FILES_OF_USERS}
    assert {place(file, places) for file in named()} - {""} == places
    assert {place(file, {*OF_REHEARSAL}) for file in named(REHEARSAL)} == {*OF_REHEARSAL}


def test_existing_nodes_know_no_cloud() -> None:
    folder = PACKAGE / "substrates/on_premises"
    texts = {
        file.name: SOURCE.sub("", file.read_text("utf-8")) for file in folder.rglob("*") if file.suffix in SUFFIXES
    }
    assert {name for name, text in texts.items() if NAMES.search(text)} == set()


def test_a_name_is_found() -> None:
    assert NAMES.search("Karpenter starts nodes") and NAMES.search('"karpenter.sh/nodepool"') and NAMES.search("of EKS")
    assert not NAMES.search("seeks") and not NAMES.search(SOURCE.sub("", 'rule("X", source="aws/karpenter v1")'))
