"""What no judge can see in a broken tree, and why."""

from __future__ import annotations

from collections.abc import Iterable

from gpuc.lint import checks
from gpuc.manifest.manifest import Manifest
from gpuc.objects.flaw import Flaw
from gpuc.objects.object_set import emitted
from gpuc.pipeline.stages import CompiledSpec
from tests.lint.mutations.breaks import Break, breaks, spread
from tests.verify.findings import schema_flaws

EACH = 3
"""So many breaks of every kind of object and category."""
DECISION = "another decision, and nothing else in the tree says that it was not meant"
COPIED = "a template that nobody applies: another amount, or one less, is another template"
AGENT = "what an agent asks for is promised to nobody"
UNSEEN = {
    ("ServiceMonitor", "object"): DECISION,
    ("PodMonitor", "object"): DECISION,
    ("PrometheusRule", "object"): DECISION,
    ("PrometheusRule", "rule"): DECISION,
    ("NetworkPolicy", "label"): "an exception of one tenant: it closes traffic and opens none",
    ("NetworkPolicy", "rule"): "an exception of one tenant, to addresses outside of the cluster",
    ("Application", "label"): "Gatekeeper looks whether a namespace has the label, not at its value",
    ("ClusterPolicy", "label"): "labels that the operator puts on its pods, for people",
    ("ClusterPolicy", "taint"): "a startup taint: who takes it away may need the operator's pods or not",
    ("Cohort", "object"): "Kueue takes a cohort that only queues name",
    ("DaemonSet", "quantity"): AGENT,
    ("LimitRange", "quantity"): DECISION,
    ("Job", "object"): COPIED,
    ("Job", "quantity"): COPIED,
    (
        "ResourceQuota",
        "quantity",
    ): "how many claims and Jobs a namespace may have: nothing else says it",
    ("Role", "role"): "the resources that it names exist in no other API group",
    ("Namespace", "label"): "which environment it is of: no program reads it",
    ("AppProject", "reference"): "a kind that only the templates of a chart have",
    ("Service", "rule"): "a headless Service gives pods their names, with ports or without",
}
"""By kind and category why no judge says anything: said here, so that it is no accident."""

UNREAD = frozenset(
    ("Application", "ClusterPolicy", "DaemonSet", "NetworkPolicy", "PodMonitor", "PrometheusRule", "ServiceMonitor")
)
"""Kinds that no program of a rehearsal reads, as every rehearsal says itself: it can show no harm there."""


def chosen_breaks(spec: CompiledSpec, each: int = EACH) -> list[Break]:
    """Breaks of a compiled spec, spread over all kinds and categories."""
    return spread(breaks(spec.objects), each)


def unseen(chosen: Iterable[Break], spec: CompiledSpec) -> list[Break]:
    """Those that no judge reports."""
    return [each for each in chosen if not flaws(each.tree, spec)]


def why_unseen(each: Break) -> str:
    """The reason that the table has; empty for none."""
    return UNSEEN.get((each.manifest.kind, each.category), "")


def flaws(tree: Iterable[Manifest], spec: CompiledSpec) -> list[Flaw]:
    """What all judges find in a tree, beside the other files of the spec, as a compile asks them."""
    objects, others = list(tree), [each for each in spec.artifacts if not isinstance(each, Manifest)]
    return [*schema_flaws(objects, "1.35"), *checks.flaws(emitted([*objects, *others]))]
