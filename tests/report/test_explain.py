"""gpuc explain knows every fault of the package."""

from __future__ import annotations

import pytest

from gpuc.diagnostics.finding import RULES, Rule, Severity
from gpuc.diagnostics.report import explain
from gpuc.diagnostics.usage import UsageError


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Rule("ZZZ001", Severity.WARNING, "Promises too much.", "Pods wait.", "https://example.com")
    monkeypatch.setitem(RULES, "ZZZ001", made)


@pytest.mark.parametrize("id", ["ZZZ001", "zzz-001", "Zzz001"])
def test_one_fault(id: str) -> None:  # noqa: A002
    assert explain.explain(id) == (
        "ZZZ001 (warning): Promises too much.\n\nPods wait.\n\nSource: https://example.com\n"
    )


def test_an_unknown_id_suggests_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"ZZZ01 \(did you mean ZZZ001\?\)"):
        explain.explain("ZZZ01")


def test_the_listing_has_every_fault_that_the_source_declares() -> None:
    import re
    from pathlib import Path

    import gpuc

    sources = Path(gpuc.__path__[0]).rglob("*.py")
    declaration = re.compile(r'\bdeclare(?:_rule)?\(\s*"([A-Z]+\d{3})"')
    declared = {found for path in sources for found in declaration.findall(path.read_text("utf-8"))}
    listed = explain.listing().splitlines()
    assert declared and declared <= {line.split()[0] for line in listed}
    assert "ZZZ001  warning  Promises too much." in listed
    assert listed == sorted(listed)


def test_a_rule_is_shown_by_its_case() -> None:
    text = explain.explain("KUE007")
    assert "Good, in a spec that extends training.yaml:\n\n    spec:\n      queues:" in text
    assert "train: {nodes: 10, lend: 11}   # <- KUE007 is reported here\n" in text
    assert "#!" not in text and "extends:" not in text


def test_a_check_of_objects_is_shown_by_its_case() -> None:
    assert "policyName: image   # <- REF008 is reported here\n" in explain.explain("ref-008")


def test_one_fault_does_not_import_the_others() -> None:
    import subprocess
    import sys

    program = (
        "import sys; from gpuc.diagnostics.report.explain import explain; explain('REF008');"
        "print(*(name for name in sys.modules if name.startswith(('gpuc.rules', 'gpuc.lint', 'gpuc.model'))))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "\n"
