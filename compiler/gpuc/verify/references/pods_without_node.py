from collections.abc import Sequence

from gpuc.admission.mutating import mutated
from gpuc.admission.request import Request
from gpuc.cluster.flavors import ResourceFlavor, resource_flavors
from gpuc.cluster.index import Index
from gpuc.cluster.queue import cluster_queue, from_objects
from gpuc.diagnostics.contract import Needs, When
from gpuc.kubernetes.kueue import GROUP
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import TENANT_KEY
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group
from gpuc.objects.pods import Pods
from gpuc.objects.selectors import equal_labels, node_terms, tolerations
from gpuc.verify import Findings, check
from gpuc.verify.pod_nodes import SYSTEM_NODES, NodeGroup, pool_nodes, refusal
from gpuc.verify.subject import Subject

_DEFAULT_QUEUE = "default"
"""The LocalQueue of workloads without the queue label: kueue v0.19.2 pkg/controller/jobframework/defaults.go."""


@check("REF086", needs=Needs.CLUSTER, when=When.BOTH)
def pods_without_node(subject: Subject) -> Findings:
    """No node accepts the pods of an object: neither the system nodes nor the nodes of a node pool."""
    objects, index = subject.objects, subject.index
    if objects.is_complete and index.nodes.pools and not any(map(_changes_pods, objects.manifests)):
        pools = index.nodes.pools
        groups = {
            after_boot: [pool_nodes(pool, after_boot=after_boot) for pool in pools] for after_boot in (False, True)
        }
        for pods in index.pods:
            has_pods = pods.record.creates_pods and dig(pods.manifest.body, "spec", "replicas") != 0
            if has_pods and not dig(pods.spec, "nodeName"):
                yield from _findings(pods, index, groups[pods.record.traits.is_per_node])


def _changes_pods(manifest: Manifest) -> bool:
    """Returns whether an object can add tolerations and node selectors to pods."""
    is_native = group(manifest) == "admissionregistration.k8s.io" and manifest.kind.startswith("Mutating")
    return is_native or group(manifest) == "mutations.gatekeeper.sh"


def _findings(pods: Pods, index: Index, groups: Sequence[NodeGroup]) -> Findings:
    """Yields a finding about the pods of a template, unless a node takes them alone or with one of their flavors.

    Args:
        groups: the nodes of all node pools.
    """
    namespace = pods.manifest.namespace
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace}, "spec": pods.spec}
    pod = mutated(index.tree, Request(document, "")).document["spec"]
    if not pods.wants_devices:
        is_of_tenant = TENANT_KEY in index.namespaces.labels.get(namespace, ())
        groups = [*groups, SYSTEM_NODES] if is_of_tenant else [SYSTEM_NODES, *groups]
    flavors = _flavors(pods, index.tree)
    terms, accepted = node_terms(pod), tolerations(dig(pod, "tolerations"))
    reason = refusal(groups, terms, accepted) if flavors is not None else None
    for flavor in flavors or ():
        with_labels = [(*term, *equal_labels(flavor.labels)) for term in terms]
        reason = reason and refusal(groups, with_labels, (*accepted, *flavor.tolerations)) and reason
    if reason:
        path = (*pods.path, "spec", reason.field(pods.spec))
        yield ObjectFinding(pods_without_node.rule, pods.manifest, path, reason.message, reason.fix)


def _flavors(pods: Pods, objects: ObjectSet) -> list[ResourceFlavor] | None:
    """Returns the flavors of the queue of some pods; None if the queue or a flavor does not exist."""
    local = objects.find(GROUP, "LocalQueue", pods.queue or _DEFAULT_QUEUE, pods.manifest.namespace)
    if local is None:
        return None if pods.queue else []
    queue = from_objects(objects).by_name.get(cluster_queue(local))
    known, names = objects.once(resource_flavors), queue.flavors if queue else ()
    return [known[name] for name in names] if names and all(name in known for name in names) else None
