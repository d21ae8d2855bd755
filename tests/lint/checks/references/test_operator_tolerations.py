"""The tolerations that gpuc writes for the pods of the GPU operator."""

import pytest

from tests.conftest import EXAMPLES
from tests.lint.checks.references.trees import example_objects, findings_of, replaced, with_value


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_tolerations_that_gpuc_writes_are_needed(name: str) -> None:
    objects = example_objects(name)
    (policy,) = (manifest for manifest in objects if manifest.kind == "ClusterPolicy")
    tolerations = policy.body["spec"]["daemonsets"]["tolerations"]
    fewer = [toleration for toleration in tolerations if toleration["key"] != "nvidia.com/gpu"]
    broken = with_value(policy, ("spec", "daemonsets", "tolerations"), fewer)
    found = findings_of(replaced(objects, policy, broken), is_complete=True, charts_of=name)
    assert {finding.rule.id for finding in found} == {"REF015"}
