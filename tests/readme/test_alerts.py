"""The commands in the texts of all alerts are right."""

import re
import shlex
from collections.abc import Iterator

import pytest
from ruamel.yaml import YAML

from tests.conftest import root_of
from tests.readme.check import command_problems, only_reads
from tests.readme.recording import Command
from tests.readme.test_readmes import CLUSTERS
from tests.tables import table

COMMAND = re.compile(r"(?:kubectl|aws|argocd) (?:(?! and |, |\. |: |\.$| for ).)+")
"""A command in a sentence: up to the end of the sentence or the next part of it."""


def commands(cluster: str) -> Iterator[str]:
    """Yields the commands in the annotations of alerts, with NAME in place of a label of the alert."""
    for file in sorted((root_of(cluster) / f"out/{cluster}/monitoring/rules").glob("*.yaml")):
        for document in YAML(typ="safe").load_all(file.read_text(encoding="utf-8")):
            for group in document["spec"]["groups"]:
                for rule in group["rules"]:
                    for text in rule.get("annotations", {}).values():
                        yield from (re.sub(r"\{\{.*?\}\}", "NAME", found) for found in COMMAND.findall(text))


@pytest.mark.share(3)
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_the_commands_of_alerts_exist_and_only_read(cluster: str) -> None:
    found = sorted(set(commands(cluster)))
    assert len(found) >= 10
    assert command_problems(Command(1, tuple(shlex.split(text)), is_mention=True) for text in found) == []
    assert [text for text in found if not only_reads(text)] == []


@pytest.mark.parametrize(("text", "expected"), table(__file__, "cases.yaml")["sentences"].items())
def test_commands_end_with_their_part_of_the_sentence(text: str, expected: list[str]) -> None:
    assert COMMAND.findall(text) == expected
