"""What no judge can see in a broken tree, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from compiler.compiled import CompiledSpec
from compiler.manifest import Manifest
from compiler.verify import judge
from compiler.verify.flaw import Flaw
from compiler.verify.schema import schema_flaws
from compiler.verify.shape import verify_shape
from compiler.verify.tree import Tree
from tests.verify.kill.breaks import Break, breaks, spread

EACH = 3
"""So many breaks of every kind of object and category."""
MONITORING = "read by Prometheus alone: what is missing there changes nothing that runs, and no scene of a rehearsal"
CLOSES = "it closes traffic and opens none: the isolation proof still holds"
FEWER = "fewer rights, or a tighter limit: nobody gets more than before"
COPIED = "a template that nobody applies: another amount, or one less, is another template"
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
    ("Job", "object"): COPIED,
    ("Job", "quantity"): COPIED,
    ("Service", "object"): COPIED,
    ("Service", "label"): COPIED,
    ("Service", "rule"): COPIED,
    ("constraint", "selector"): "a constraint that warns refuses nothing: of the platform's pods it only tells",
}  # fmt: skip
"""By kind and category (empty: all) why no judge says anything: said here, so that it is no accident."""


UNREAD = frozenset(
    (
        "AppProject",
        "Application",
        "EC2NodeClass",
        "NetworkPolicy",
        "PodMonitor",
        "PrometheusRule",
        "ServiceMonitor",
        "DaemonSet",
        "ClusterRole",
        "ClusterRoleBinding",
    )
)
"""Kinds that no program of a rehearsal reads, as every rehearsal says itself: it can show no harm there."""


def chosen_breaks(spec: CompiledSpec) -> list[Break]:
    """Breaks of a compiled spec, spread over all kinds and categories."""
    return spread(breaks(spec.objects), EACH)


def unseen_breaks(spec: CompiledSpec) -> Iterator[Break]:
    """Those that no judge reports."""
    return (each for each in chosen_breaks(spec) if not flaws(each.tree, spec.charts))


def why_unseen(each: Break) -> str:
    """The reason that the table has; empty for none."""
    constraint = each.manifest.api.startswith("constraints.gatekeeper.sh/")
    kind = "constraint" if constraint else each.manifest.kind
    return UNSEEN.get((kind, each.category)) or UNSEEN.get((kind, ""), "")


def flaws(tree: tuple[Manifest, ...], values: Mapping[str, Any]) -> list[Flaw]:
    """What all judges find, as a compile asks them."""
    return [*schema_flaws(tree, "1.35"), *verify_shape(tree), *judge(Tree(tree, is_whole=True, values=values))]
