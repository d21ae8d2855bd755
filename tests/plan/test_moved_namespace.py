"""What happens to waiting workloads when their namespace moves to another tenant."""

from pathlib import Path

import pytest

from tests.plan.cases import HEAD, Case, impacts_of


def _spec(owner: str, users: str) -> str:
    """A cluster with a namespace of a tenant, and with a queue for tenants."""
    return f"""{HEAD}extends: [training.yaml]
spec:
  tenants: {{{owner}: {{namespaces: {{lab: {{podSecurity: baseline}}}}}}}}
  pools: {{batch: {{nodes: {{max: 5}}}}}}
  queues: {{lab: {{tenants: [{users}], quota: {{batch: {{nodes: 1}}}}}}}}
"""


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("users", "lost"),
    [
        ("red", "queues lab, red, red-cpu"),
        ("blue", "queues red, red-cpu"),
        ("red, blue", "queues red, red-cpu"),
    ],
)
def test_queues_that_stay_with_the_old_tenant_admit_no_workloads(users: str, lost: str, tmp_path: Path) -> None:
    impacts = impacts_of(tmp_path, Case("moved", _spec("red", "red"), _spec("blue", users)))
    (moved,) = (impact for impact in impacts if impact.id == "IMP255")
    words = f"workloads that run continue; workloads that wait in {lost} of the old tenant are not admitted"
    assert moved.details[0] == words
