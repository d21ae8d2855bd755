"""gpuc explain knows every rule of the package."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import gpuc
from gpuc.cli.commands import COMMANDS
from gpuc.cli.init import TEMPLATE
from gpuc.cli.parser import Parser
from gpuc.diagnostics.finding import RULES, Rule, Severity
from gpuc.diagnostics.report import explain
from gpuc.diagnostics.report.topics import TOPICS
from gpuc.diagnostics.usage import UsageError


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = Rule("ZZZ001", Severity.WARNING, "Promises too much.", "Pods wait.", "https://example.com")
    monkeypatch.setitem(RULES, "ZZZ001", rule)


@pytest.mark.parametrize("id", ["ZZZ001", "zzz-001", "Zzz001"])
def test_an_id_may_have_lower_case_and_a_hyphen(id: str) -> None:  # noqa: A002
    assert explain.explain(id) == (
        "ZZZ001 (warning): Promises too much.\n\nPods wait.\n\nSource: https://example.com\n"
    )


def test_an_unknown_id_suggests_a_similar_one() -> None:
    with pytest.raises(UsageError, match=r"ZZZ01 \(did you mean ZZZ001\?\)"):
        explain.explain("ZZZ01")


def test_the_listing_has_every_rule_that_the_source_declares() -> None:
    sources = Path(gpuc.__path__[0]).rglob("*.py")
    declaration = re.compile(r'\b(?:declare_rule|rule_of)\(\s*"([A-Z]+\d{3})"')
    declared = {found for path in sources for found in declaration.findall(path.read_text("utf-8"))}
    listed = explain.listing().splitlines()
    assert declared and declared <= {line.split()[0] for line in listed if line.startswith("  ")}
    assert "  ZZZ001   warning    Promises too much." in listed
    assert listed[listed.index("GPU sharing: MIG layouts") + 1].startswith("  MIG001 ")
    assert "gpuc explain pools.nodes.max" in listed[-1]


def test_each_topic_has_a_title_and_rules() -> None:
    letters = {rule.rstrip("0123456789") for rule in explain.every_rule() if rule != "ZZZ001"}
    assert letters == TOPICS.keys()


def test_help_texts_and_the_template_name_rules_that_exist() -> None:
    text = Parser(COMMANDS["explain"]).format_help() + (TEMPLATE / "common/README.md.j2").read_text("utf-8")
    ids = re.findall(r"\b[A-Z]{3}\d{3}\b", text)
    assert ids and set(ids) <= set(explain.every_rule())


def test_the_explanation_of_a_spec_rule_shows_its_case_file() -> None:
    text = explain.explain("KUE007")
    assert "Good, in a spec that extends training.yaml:\n\n    spec:\n      queues:" in text
    assert "train: {nodes: 10, lend: 11}   # <- KUE007 is reported here\n" in text
    assert "#!" not in text and "#~" not in text and "extends:" not in text


def test_the_explanation_of_a_rule_about_layers_shows_extends() -> None:
    text = explain.explain("LAY002")
    assert "    extends: [training.yaml]\n" in text and "    extends: [../training.yaml]\n" in text


def test_the_explanation_of_an_object_rule_shows_its_case_file() -> None:
    assert "policyName: image   # <- REF008 is reported here\n" in explain.explain("ref-008")


def test_explaining_a_rule_does_not_import_the_others() -> None:
    program = (
        "import sys; from gpuc.diagnostics.report.explain import explain; explain('REF008');"
        "print(*(name for name in sys.modules if name.startswith(('gpuc.rules', 'gpuc.lint', 'gpuc.model'))))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "\n"
