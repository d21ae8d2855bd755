"""Generated breaks of every example cluster: each is reported, or stands in the table of what no judge can see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from compiler.compiled import compiled_spec
from compiler.manifest import Manifest
from compiler.verify import judge
from compiler.verify.flaw import Flaw
from compiler.verify.schema import schema_flaws
from compiler.verify.shape import verify_shape
from compiler.verify.tree import Tree
from tests.conftest import EXAMPLES, ROOT
from tests.verify.kill.breaks import Break, breaks, spread

EACH = 3
"""So many breaks of every kind of object and category."""
MONITORING = "read by Prometheus alone: what is missing there changes nothing that runs, and no scene of a rehearsal"
CLOSES = "it closes traffic and opens none: the isolation proof still holds"
FEWER = "fewer rights, or a tighter limit: nobody gets more than before"
UNSEEN = {
    ("ServiceMonitor", ""): MONITORING,
    ("PodMonitor", ""): MONITORING,
    ("PrometheusRule", ""): MONITORING,
    ("EC2NodeClass", "reference"): "names of AWS that no object repeats; a rehearsal lists AWS as not judged",
    ("NodeOverlay", "object"): "another instance type of the pool still offers the resource: its work finds a node",
    ("NodeOverlay", "quantity"): "another instance type of the pool still offers the resource: its work finds a node",
    ("ClusterQueue", "quantity"): "a smaller quota is a decision; nothing promises the larger one",
    ("DaemonSet", "quantity"): "what an agent asks for is promised to nobody",
    ("ClusterRole", "role"): "what the layout gate's script asks of the API server stands in its text alone",
    ("ClusterRoleBinding", "object"): "what the layout gate's script asks of the API server stands in its text alone",
    ("constraint", "rule"): "a list of allowed resources: what a tenant's queues give it is in the model alone",
    ("NodePool", "label"): "the device plugin's configurations stand in the GPU Operator's values, not in an object",
    ("NodePool", "taint"): "a taint that only one flavor tolerates: its own work still finds the pool",
    ("WorkloadPriorityClass", "object"): "only work that is submitted later names it",
    ("Cohort", "object"): "Kueue takes a cohort that only queues name",
    ("NetworkPolicy", "object"): CLOSES,
    ("NetworkPolicy", "rule"): CLOSES,
    ("NetworkPolicy", "label"): CLOSES,
    ("ResourceQuota", "quantity"): FEWER,
    ("LimitRange", "quantity"): FEWER,
    ("Application", "object"): "which applications a cluster has is nowhere else",
    ("Application", "label"): "labels of namespaces that only their charts' applications know",
    ("Job", "object"): "a template that users copy: what each copies is theirs",
    ("Job", "quantity"): "a template that users copy: another amount is another request",
    ("Service", "label"): "a template that users copy",
    ("constraint", "selector"): "a constraint that warns refuses nothing: of the platform's pods it only tells",
}  # fmt: skip
"""By kind and category (empty: all) why no judge says anything: said here, so that it is no accident."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_break_is_reported_or_known(name: str) -> None:
    spec = compiled_spec(ROOT, f"specs/{name}.yaml")
    tree, values = spec.objects, spec.charts
    assert _flaws(tree, values) == []
    chosen = spread(breaks(tree), EACH)
    missed = [each for each in chosen if not _flaws(each.tree, values)]
    unknown = [str(each) for each in missed if _key(each) not in UNSEEN and (each.manifest.kind, "") not in UNSEEN]
    made = Counter(each.category for each in chosen)
    told = made - Counter(each.category for each in missed)
    kinds = len({each.manifest.kind for each in chosen})
    caught = len(chosen) - len(missed)
    print(f"{name}: {len(chosen)} breaks of {kinds} kinds, {caught} reported: {dict(told)} of {dict(made)}")
    assert len(chosen) >= 100
    assert unknown == []


def _key(each: Break) -> tuple[str, str]:
    constraint = each.manifest.api.startswith("constraints.gatekeeper.sh/")
    return "constraint" if constraint else each.manifest.kind, each.category


def _flaws(tree: tuple[Manifest, ...], values: Mapping[str, Any]) -> list[Flaw]:
    return [*schema_flaws(tree, "1.35"), *verify_shape(tree), *judge(Tree(tree, is_whole=True, values=values))]
