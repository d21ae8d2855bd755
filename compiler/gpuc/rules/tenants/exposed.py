"""Rules about the section `exposed` of a namespace: how clients outside of the cluster reach objects of a tenant."""

from gpuc.catalog.annotations import FREE, GRANTED, annotation, annotations, controller_of
from gpuc.diagnostics.finding import Path, Related, Severity
from gpuc.diagnostics.spelling import nearest
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule


@rule("TEN116")
def annotation_without_grant(cluster: Cluster) -> Findings:
    """`exposed.annotations` has an annotation that its controller does not know, or that does not need this entry."""
    substrate = cluster.spec.cloud.substrate.folder
    for _, namespace in cluster.namespaces:
        for index, key in enumerate(namespace.spec.exposed.annotations):
            if message := _problem(key, substrate):
                close = nearest(key, [entry.key for entry in annotations(substrate) if entry.use == GRANTED])
                fix = f"replace {key} by {close}" if close and annotation(key, substrate) is None else ""
                yield Found((*namespace.path, "exposed", "annotations", index), f"{key}: {message}", fix)


def _problem(key: str, substrate: str) -> str:
    """Returns why a namespace cannot get an annotation by its key; empty if it can."""
    entry, controller = annotation(key, substrate), controller_of(key, substrate)
    if controller is None:
        domains = ", ".join(dict.fromkeys(entry.prefix for entry in annotations(substrate)))
        return f"the policies do not refuse this annotation; expected one that starts with {domains}"
    if entry is None:
        return f"{controller.controller} does not know this annotation; `gpuc explain {controller.prefix}` lists all"
    if entry.use == FREE:
        return "every tenant may use this annotation; remove the entry"
    return "" if entry.use == GRANTED else f"its values need a grant; list them in exposed.{entry.use}"


@rule("TEN117", Severity.WARNING)
def same_load_balancer(cluster: Cluster) -> Findings:
    """Several tenants may use the same group of load balancers, or the same IP address."""
    first: dict[tuple[str, str], tuple[str, Path]] = {}
    for tenant, namespace in cluster.namespaces:
        exposed = namespace.spec.exposed
        for key, names in (("groups", exposed.groups), ("addresses", exposed.addresses)):
            for index, name in enumerate(names):
                path = (*namespace.path, "exposed", key, index)
                owner, place = first.setdefault((key, name), (tenant.name, path))
                if owner != tenant.name:
                    message = f"tenant {tenant.name} may use {name}, and tenant {owner} too"
                    yield Found(path, message, related=[Related(f"the entry of tenant {owner}", place)])
