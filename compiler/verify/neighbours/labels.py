"""Labels of namespaces by which others count: the environment that all have in common, and who pays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from compiler.finding import Severity, fault
from compiler.verify.flaw import Flaw
from compiler.verify.tree import Tree, dig

ODD_LABEL = fault(
    "NSP005", Severity.WARNING, "A namespace's label says otherwise than its neighbours or its policy.",
    "Costs and alerts are told by such labels: those of this namespace go to somebody else.",
)  # fmt: skip
_ENVIRONMENT = "gpuc.dev/environment"
_COST_CENTRE = "gpuc.dev/cost-centre"
_TENANT = "gpuc.dev/tenant"
_LEAST = 3
"""So many namespaces have to be alike beside the odd one."""


def odd_labels(tree: Tree) -> Iterator[Flaw]:
    """A namespace of another environment than all others, and one that is not of its tenant's cost centre."""
    labels = {name: each[_ENVIRONMENT] for name, each in tree.namespaces.items() if _ENVIRONMENT in each}
    for usual, count in Counter(map(str, labels.values())).items():
        if count == len(labels) - 1 >= _LEAST:
            odd = next(name for name, value in labels.items() if str(value) != usual)
            text = f'"{labels[odd]}"; the other {count} namespaces are of {usual}'
            yield from _flaw(tree, odd, _ENVIRONMENT, text)
    yield from _cost_centres(tree)


def _cost_centres(tree: Tree) -> Iterator[Flaw]:
    """By the constraints on workloads, which name the cost centre of the namespaces that they select by tenant."""
    paying: dict[str, tuple[str, str]] = {}
    for each in tree.of("constraints.gatekeeper.sh", "GpucCostLabel"):
        tenant = dig(each.body, "spec", "match", "namespaceSelector", "matchLabels", _TENANT)
        centre = dig(each.body, "spec", "parameters", "costCentre")
        if isinstance(tenant, str) and isinstance(centre, str):
            paying[tenant] = (centre, str(each))
    for name, labels in tree.namespaces.items():
        centre, constraint = paying.get(str(labels.get(_TENANT)), ("", ""))
        seen = labels.get(_COST_CENTRE)
        if centre and seen is not None and seen != centre:
            text = f'"{seen}"; {constraint} says {centre} of the same tenant'
            yield from _flaw(tree, name, _COST_CENTRE, text)


def _flaw(tree: Tree, name: str, key: str, text: str) -> Iterator[Flaw]:
    namespace = tree.find("", "Namespace", name)
    if namespace is not None:
        yield Flaw(ODD_LABEL, namespace, ("metadata", "labels", key), text)
