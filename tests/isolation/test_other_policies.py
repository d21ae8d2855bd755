"""Policies that gpuc does not evaluate: the proof does not hold beside a policy that can allow connections."""

from pathlib import Path

import pytest
import yaml

from gpuc.cli.main import run_command
from gpuc.isolation import dns_egress
from tests.isolation.cases import DENY, namespace, policy, tree
from tests.tables import table

TENANTS = namespace("red", "r") + namespace("blue", "b")
CLOSED = TENANTS + policy("red", DENY) + policy("blue", DENY)


OPEN, CLOSING = (
    {
        name: yaml.safe_dump_all(objects, explicit_start=True)
        for name, objects in table(__file__, "other_policies.yaml")[part].items()
    }
    for part in ("open", "closing")
)


def proven(folder: Path, text: str) -> int:
    file = folder / "tree.yaml"
    file.write_text(text, encoding="utf-8")
    return run_command(["isolation", str(file)])


@pytest.mark.parametrize("kind", OPEN)
def test_lint13_the_proof_does_not_hold_beside_a_policy_that_allows_everything(tmp_path: Path, kind: str) -> None:
    assert proven(tmp_path, CLOSED) == 0
    assert proven(tmp_path, CLOSED + OPEN[kind]) == 1


def test_lint13_the_report_names_the_policy_and_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert proven(tmp_path, CLOSED + OPEN["AdminNetworkPolicy"]) == 1
    output = capsys.readouterr().out
    assert "unproven  policies of other kinds do not allow more connections" in output
    assert f"gpuc cannot evaluate AdminNetworkPolicy open ({tmp_path}/tree.yaml)" in output
    assert output.endswith("The proof does not hold; unproven assumptions: 1.\n")


@pytest.mark.parametrize("kind", CLOSING)
def test_lint13_the_proof_holds_beside_a_policy_that_only_denies(tmp_path: Path, kind: str) -> None:
    assert proven(tmp_path, CLOSED + CLOSING[kind]) == 0


@pytest.mark.parametrize("kind", ["AdminNetworkPolicy", "ClusterPolicy of Kyverno"])
def test_lint13_dns_is_not_judged_beside_these_policies(kind: str) -> None:
    assert list(dns_egress.findings(tree(CLOSED)))
    assert not list(dns_egress.findings(tree(CLOSED + OPEN[kind])))
