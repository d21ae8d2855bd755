"""gpuc's own policies in a tree: templates that say something else, and parameters that forget something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compiler.catalog.policies import Policy, policies
from compiler.finding import Severity, fault
from compiler.manifest import Manifest
from compiler.verify.flaw import Flaw
from compiler.verify.tree import Tree, dig, group, items

CHANGED = fault(
    "PLC009", Severity.ERROR, "A template is not the policy of its name, or a constraint judges other kinds.",
    "A clause that is gone lets through what everybody believes to be refused.",
)  # fmt: skip
REFUSED_TOLERATION = fault(
    "PLC010", Severity.ERROR, "A fence refuses a toleration that a flavor of the tenant's own queue adds.",
    "Kueue admits the work and every pod of it is refused.",
)  # fmt: skip
UNKNOWN_RESOURCE = fault(
    "PLC011", Severity.ERROR, "A policy limits a resource that no queue and no node pool of the tree knows.",
    "The limit holds for nothing.",
)  # fmt: skip
OTHER_TENANT = fault(
    "PLC012", Severity.ERROR, "A constraint is told another tenant than the one whose namespaces it selects.",
    "It fences one tenant by the name of another.",
)  # fmt: skip
NO_SUCH_QUEUE = fault(
    "PLC013", Severity.ERROR, "A namespace lacks a queue that its policy sends work to.",
    "Work that names the queue waits there for ever, or is refused.",
)  # fmt: skip


def flaws(tree: Tree) -> Iterator[Flaw]:
    """What is wrong with templates and constraints of the kinds that gpuc's policies have."""
    known = {policy.kind: policy for policy in policies().values()}
    for template in tree.of("templates.gatekeeper.sh", "ConstraintTemplate"):
        policy = known.get(str(dig(template.body, "spec", "crd", "spec", "names", "kind")))
        if policy is not None:
            yield from _template(template, policy)
    resources = _resources(tree)
    for constraint in tree.manifests:
        if group(constraint) != "constraints.gatekeeper.sh" or constraint.kind not in known:
            continue
        yield from _kinds(constraint, known[constraint.kind])
        yield from _tenant(constraint)
        yield from _limits(constraint, resources)
        yield from _tolerations(tree, constraint)
        yield from _queues(tree, constraint)


def _template(template: Manifest, policy: Policy) -> Iterator[Flaw]:
    path = ("spec", "targets", 0, "code", 0, "source")
    source = dig(template.body, *path)
    variables = {dig(each, "name"): dig(each, "expression") for _, each in items(dig(source, "variables"))}
    if variables != dict(policy.variables):
        yield Flaw(CHANGED, template, (*path, "variables"), f"its variables are not those of the policy {policy.name}")
    if dig(source, "validations") != list(policy.validations):
        text = f"its validations are not those of the policy {policy.name}"
        yield Flaw(CHANGED, template, (*path, "validations"), text)


def _kinds(constraint: Manifest, policy: Policy) -> Iterator[Flaw]:
    seen = dig(constraint.body, "spec", "match", "kinds")
    if seen != list(policy.kinds):
        text = f"it judges other kinds than the policy {policy.name} is written for"
        yield Flaw(CHANGED, constraint, ("spec", "match", "kinds"), text)


def _selected(constraint: Manifest) -> tuple[str, str] | None:
    labels = dig(constraint.body, "spec", "match", "namespaceSelector", "matchLabels")
    if not isinstance(labels, dict) or len(labels) != 1:
        return None
    ((key, value),) = labels.items()
    return str(key), str(value)


def _tenant(constraint: Manifest) -> Iterator[Flaw]:
    selected, told = _selected(constraint), dig(constraint.body, "spec", "parameters", "tenant")
    if selected is not None and isinstance(told, str) and told != selected[1]:
        text = f'it is told "{told}" and selects "{selected[0]}: {selected[1]}"'
        yield Flaw(OTHER_TENANT, constraint, ("spec", "parameters", "tenant"), text, selected[1])


def _resources(tree: Tree) -> set[str]:
    """Every resource that a queue covers or a node overlay adds."""
    found = {
        str(name)
        for queue in tree.of("kueue.x-k8s.io", "ClusterQueue")
        for _, part in items(dig(queue.body, "spec", "resourceGroups"))
        for _, name in items(dig(part, "coveredResources"))
    }
    for overlay in tree.of("karpenter.sh", "NodeOverlay"):
        capacity = dig(overlay.body, "spec", "capacity")
        found |= set(capacity) if isinstance(capacity, dict) else set()
    return found


def _limits(constraint: Manifest, resources: set[str]) -> Iterator[Flaw]:
    for index, limit in items(dig(constraint.body, "spec", "parameters", "limits")):
        resource = dig(limit, "resource")
        if resources and isinstance(resource, str) and resource not in resources:
            path = ("spec", "parameters", "limits", index, "resource")
            yield Flaw(UNKNOWN_RESOURCE, constraint, path, f'"{resource}"; known are {", ".join(sorted(resources))}')


def _tolerations(tree: Tree, constraint: Manifest) -> Iterator[Flaw]:
    taints = dig(constraint.body, "spec", "parameters", "taints")
    selected = _selected(constraint)
    if not isinstance(taints, list) or selected is None:
        return
    key, value = selected
    namespaces = {name for name, labels in tree.namespaces.items() if labels.get(key) == value}
    allowed = {(dig(each, "key"), dig(each, "value")) for each in taints}
    for flavor, toleration in _added(tree, namespaces):
        wanted = (dig(toleration, "key"), dig(toleration, "value"))
        if wanted not in allowed:
            text = f'flavor {flavor} adds the toleration "{wanted[0]}={wanted[1]}", which is not among them'
            yield Flaw(REFUSED_TOLERATION, constraint, ("spec", "parameters", "taints"), text)
            return


def _queues(tree: Tree, constraint: Manifest) -> Iterator[Flaw]:
    selected = _selected(constraint)
    if not tree.is_whole or selected is None:
        return
    names = {name for name, labels in tree.namespaces.items() if labels.get(selected[0]) == selected[1]}
    for index, queue in items(dig(constraint.body, "spec", "parameters", "queues")):
        for namespace in sorted(names):
            if tree.find("kueue.x-k8s.io", "LocalQueue", str(queue), namespace) is None:
                path = ("spec", "parameters", "queues", index)
                yield Flaw(NO_SUCH_QUEUE, constraint, path, f'namespace {namespace} has no LocalQueue "{queue}"')


def _added(tree: Tree, namespaces: set[str]) -> Iterator[tuple[str, Any]]:
    """Tolerations with a value that flavors of the namespaces' queues add to pods."""
    for local in tree.of("kueue.x-k8s.io", "LocalQueue"):
        queue = tree.find("kueue.x-k8s.io", "ClusterQueue", str(dig(local.body, "spec", "clusterQueue")))
        if local.namespace not in namespaces or queue is None:
            continue
        for _, part in items(dig(queue.body, "spec", "resourceGroups")):
            for _, each in items(dig(part, "flavors")):
                flavor = tree.find("kueue.x-k8s.io", "ResourceFlavor", str(dig(each, "name")))
                for _, toleration in items(dig(flavor.body, "spec", "tolerations") if flavor else None):
                    if isinstance(dig(toleration, "value"), str):
                        yield str(dig(each, "name")), toleration
