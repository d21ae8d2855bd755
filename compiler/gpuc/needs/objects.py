"""Finds what each object of the output needs from outside of the output, for example an IAM role.

The functions read only objects and Helm values. They do not read the prerequisites (`gpuc.emit.prerequisites`) from
which the README of the cluster is made. So a need without a prerequisite shows that the README is incomplete.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

from msgspec import Struct

from gpuc.catalog.records import Release
from gpuc.cluster.application import ARGO, Delivery, application_in
from gpuc.cluster.pool_fields import REQUIREMENTS, requirements
from gpuc.diagnostics.finding import Path
from gpuc.emit.component import component_named
from gpuc.emit.component_facts import SYSTEM_NODES, InstalledChart
from gpuc.kubernetes.api_groups import CONSTRAINTS, RBAC, is_custom
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.node_pool import CAPACITY_TYPE, INSTANCE_TYPE
from gpuc.manifest.manifest import Manifest
from gpuc.model.cluster import ALWAYS_PLATFORM
from gpuc.model.names import IAM_ROLE, SYSTEM_TAINT, TENANT_KEY
from gpuc.objects.object_set import NAMESPACE_NAME, ObjectSet, dig, group, home_namespace, items, pairs
from gpuc.objects.paths import matching_values, pattern
from gpuc.objects.pods import pods_of
from gpuc.parts.workload_kinds import workload_kind

Found = Iterator[tuple[str, Path]]
"""Ids of needs, each with the path of the field in the object."""

_ACCOUNT = re.compile(r"system:serviceaccount:([a-z0-9-]+):[a-z0-9.-]+")
_LEVELS_OF_KUBERNETES = ("node-label/kubernetes.io/hostname", "node-label/topology.kubernetes.io/zone")


class Need(Struct, frozen=True):
    """Something outside of the output that an object needs, for example an IAM role."""

    id: str
    """The kind and the name of the thing, for example "iam-role/KarpenterNodeRole-prod-use1"."""
    manifest: Manifest
    path: Path
    """The path of the field in the object that names the thing; empty for the complete object."""


class Output(Struct, frozen=True, dict=True):
    """The objects and Helm values of a cluster, and properties of the cluster that the objects do not contain."""

    objects: ObjectSet
    values: tuple[Manifest, ...]
    """The Helm values, in the form of manifests."""
    releases: Mapping[str, Release]
    """The charts of the cluster by component."""
    public_repositories: frozenset[str]
    """The repositories of charts that everybody can read."""
    engine: str
    """The network policy engine of the cluster."""
    add_ons: tuple[str, str]
    """The ids of the records about CoreDNS and kube-proxy."""

    @cached_property
    def installed(self) -> frozenset[str]:
        """The components whose charts an Argo CD Application installs."""
        charts = Delivery(self.objects).charts
        return frozenset(name for name, release in self.releases.items() if release.chart in charts)

    @cached_property
    def node_labels(self) -> frozenset[str]:
        """The needs "node-label/KEY" that Kubernetes or a NodeFeatureRule meets, because it sets the label."""
        rules = self.objects.of("nfd.k8s-sigs.io", "NodeFeatureRule")
        found = (labels for row in rules for _, labels in matching_values(row.body, pattern("spec.rules[].labels")))
        given = (f"node-label/{key}" for labels in found for key, _ in pairs(labels))
        return frozenset((*_LEVELS_OF_KUBERNETES, *given))

    @cached_property
    def tenant_namespaces(self) -> frozenset[str]:
        """The names of the namespaces that have the label of a tenant."""
        return frozenset(name for name, labels in self.objects.namespaces.items() if TENANT_KEY in labels)

    @cached_property
    def eks_cluster(self) -> str:
        """The name of the EKS cluster in the Helm values; empty if no component needs the name."""
        needs = (name.split("/", 1) for values in self.values for name, _ in _of_component(self, values))
        return next((name for kind, *rest in needs for name in rest if kind == "eks-cluster"), "")

    @cached_property
    def has_gateway(self) -> bool:
        """Whether a policy allows Cilium's Gateway, which works only if Cilium replaces kube-proxy."""
        policies = self.objects.of("cilium.io", "CiliumNetworkPolicy")
        return any(need == "cilium-feature/gateway" for policy in policies for need, _ in _cilium_policy(self, policy))

    def open_namespace(self, name: object, path: Path) -> Found:
        """Yields the need of a policy of a tenant that allows connections with pods in a namespace of no tenant.

        If the VPC CNI enforces policies, pods without a policy have no connections. So such a namespace needs a policy
        that allows all connections.
        """
        is_strict = self.engine == "vpc-cni" and self.objects.has("networking.k8s.io", "NetworkPolicy")
        if is_strict and isinstance(name, str) and name not in self.tenant_namespaces:
            yield f"allow-all/{name}", path


def needs(output: Output) -> Iterator[Need]:
    """Yields what all Helm values and objects need. The same need can occur several times."""
    for values in output.values:
        for name, path in _of_values(output, values):
            yield Need(name, values, path)
    for manifest in output.objects.manifests:
        special = _KINDS.get((group(manifest), manifest.kind))
        of_kind = special(output, manifest) if special else ()
        for name, path in chain(_of_any(output, manifest), _of_fields(manifest), of_kind):
            if name not in output.node_labels:
                yield Need(name, manifest, path)


def _of_values(output: Output, values: Manifest) -> Found:
    release = output.releases.get(values.name)
    if release is not None:
        yield from output.open_namespace(release.namespace, ())
        if values.name not in output.installed:
            yield f"component/{values.name}", ()
    own = _of_component(output, values)
    yield from own
    if any(name == SYSTEM_NODES for name, _ in own) or _tolerates_system_nodes(values.body):
        dns, proxy = output.add_ons
        yield from ((name, ()) for name in (SYSTEM_NODES, dns, *(() if output.has_gateway else (proxy,))))


def _of_component(output: Output, values: Manifest) -> list[tuple[str, Path]]:
    component = component_named(values.name)
    if component is None:
        return []
    charts = (output.releases.get(installed.name) for installed in output.values)
    groups = frozenset(name for chart in charts if chart for name in chart.groups)
    release = output.releases.get(values.name)
    namespace = release.namespace if release else ""
    return list(component.needs(InstalledChart(values.body, namespace, output.objects.documents, groups)))


def _tolerates_system_nodes(value: Any) -> bool:
    if isinstance(value, dict):
        return value.get("key") == SYSTEM_TAINT or any(map(_tolerates_system_nodes, value.values()))
    return isinstance(value, list) and any(map(_tolerates_system_nodes, value))


def _of_any(output: Output, manifest: Manifest) -> Found:
    """Yields the needs that any object can have: the CRD of its kind, and in strict mode a policy for its pods."""
    api_group = group(manifest)
    is_template = "/workloads/" in manifest.file and manifest.written is None  # users copy it, Argo CD does not sync it
    if is_custom(api_group):
        yield from _claims(manifest) if workload_kind(api_group, manifest.kind).is_runtime else ()
        owners = [release for release in output.releases.values() if api_group in release.groups]
        bringing = {release.crds_from or release.component for release in owners}
        yield from ((f"component/{name}", ()) for name in sorted(bringing - output.installed))
        if not owners:
            framework = workload_kind(api_group, manifest.kind).queueing.framework
            yield f"job-controller/{framework}" if is_template else f"definition/{api_group}", ()
    if api_group == CONSTRAINTS:
        # The pods of the ServiceAccounts that the parameters of a policy name run in strict mode.
        for name in dict.fromkeys(_ACCOUNT.findall(str(dig(manifest.body, "spec", "parameters")))):
            yield from output.open_namespace(name, ("spec", "parameters"))
    if any(True for _ in pods_of(manifest)) and not is_template:
        yield from output.open_namespace(home_namespace(manifest), ("metadata", "namespace"))


def _claims(manifest: Manifest) -> Found:
    """Yields the PersistentVolumeClaims that the pods of a runtime mount."""
    for pods in pods_of(manifest):
        for index, volume in items(dig(pods.spec, "volumes")):
            if name := dig(volume, "persistentVolumeClaim", "claimName"):
                yield f"claim/{manifest.namespace}/{name}", (*pods.path, "spec", "volumes", index)


def _of_fields(manifest: Manifest) -> Found:
    """Yields a need for each thing outside of the output that a field of the object names."""
    for path, *kinds in _FIELDS.get((group(manifest), manifest.kind), ()):
        for at, name in matching_values(manifest.body, pattern(path)):
            yield from ((f"{kind}/{name}", at) for kind in kinds if name)


def _node_class(output: Output, manifest: Manifest) -> Found:
    spec = dig(manifest.body, "spec")
    yield f"authentication-mode/{output.eks_cluster}", ("spec",)
    groups = _selected(dig(spec, "securityGroupSelectorTerms"))
    yield f"subnets/{_selected(dig(spec, 'subnetSelectorTerms'))}", ("spec", "subnetSelectorTerms")
    yield f"security-groups/{groups}", ("spec", "securityGroupSelectorTerms")
    if any(dig(interface, "interfaceType") == "efa-only" for _, interface in items(dig(spec, "networkInterfaces"))):
        yield "network-plugin/efa-only-interfaces", ("spec", "networkInterfaces")
        yield f"efa-traffic/{groups}", ("spec", "securityGroupSelectorTerms")


def _selected(terms: Any) -> str:
    """Returns what a selector of AWS resources lists: ids, or tags as "key=value", separated by commas."""
    found = [term for _, term in items(terms)]
    ids = [str(term["id"]) for term in found if dig(term, "id")]
    return ",".join(ids or [f"{key}={value}" for term in found for key, value in pairs(dig(term, "tags"))])


def _node_pool(_output: Output, manifest: Manifest) -> Found:
    for row in requirements(dig(manifest.body, *REQUIREMENTS)):
        at = (*REQUIREMENTS, row.position, "values")
        if row.key == CAPACITY_TYPE and "spot" in row.values:
            yield "service-linked-role/spot.amazonaws.com", at
        if row.key == INSTANCE_TYPE:
            yield from ((f"instance-type/{value}", at) for value in row.values)


def _service_account(_output: Output, manifest: Manifest) -> Found:
    if role := manifest.annotations.get(IAM_ROLE):
        account = f"pod-identity/{manifest.namespace}/{manifest.name}"
        for need in ("eks-addon/eks-pod-identity-agent", account, f"iam-role/{role.rpartition('/')[2]}"):
            yield need, ("metadata", "annotations", IAM_ROLE)


def _volume(_output: Output, manifest: Manifest) -> Found:
    """Yields the server or the driver of a PersistentVolume, and the Secrets of its mounts."""
    for path, kind in ((("spec", "nfs", "server"), "nfs-server"), (("spec", "csi", "driver"), "csi-driver")):
        if name := dig(manifest.body, *path):
            yield f"{kind}/{name}", path
    for field in ("nodeStageSecretRef", "nodePublishSecretRef"):
        if secret := dig(manifest.body, "spec", "csi", field):
            yield f"secret/{dig(secret, 'namespace')}/{dig(secret, 'name')}", ("spec", "csi", field)


def _binding(_output: Output, manifest: Manifest) -> Found:
    for number, subject in items(dig(manifest.body, "subjects")):
        name = dig(subject, "name")
        if dig(subject, "kind") == "Group" and isinstance(name, str) and not name.startswith("system:"):
            yield f"group/{name}", ("subjects", number, "name")


def _application(output: Output, manifest: Manifest) -> Found:
    yield f"argocd/{manifest.namespace}", ("metadata", "namespace")
    yield "argocd-health-checks", ()
    application = application_in(manifest)
    destination = application.destination
    if destination.is_own:
        yield from output.open_namespace(manifest.namespace, ("metadata", "namespace"))
    else:
        yield f"argocd-cluster/{destination.cluster}", ("spec", "destination")
    for source in application.sources:
        if source.chart:
            yield from output.open_namespace(destination.namespace, ("spec", "destination", "namespace"))
        if not source.chart or source.url not in output.public_repositories:
            yield f"repository/{source.url}", ("spec",)


def _monitoring(output: Output, manifest: Manifest) -> Found:
    yield f"prometheus/{manifest.labels.get('release')}", ("metadata", "labels", "release")
    yield f"namespace/{manifest.namespace}", ("metadata", "namespace")
    yield from output.open_namespace(manifest.namespace, ("metadata", "namespace"))
    if manifest.kind == "PrometheusRule" and "kube_" in str(manifest.body):
        yield "kube-state-metrics", ("spec", "groups")


def _notifications(output: Output, manifest: Manifest) -> Found:
    """Yields the Alertmanager that takes the object, and each Secret of a receiver."""
    yield f"alertmanager/{manifest.namespace}", ("spec", "route")
    yield f"namespace/{manifest.namespace}", ("metadata", "namespace")
    yield from output.open_namespace(manifest.namespace, ("metadata", "namespace"))
    for field in ("slackConfigs[].apiURL", "webhookConfigs[].urlSecret", "pagerdutyConfigs[].routingKey",
                  "emailConfigs[].authPassword"):  # fmt: skip
        for at, name in matching_values(manifest.body, pattern(f"spec.receivers[].{field}.name")):
            yield f"secret/{manifest.namespace}/{name}", at


def _policy(output: Output, manifest: Manifest) -> Found:
    yield f"network-policy-engine/{output.engine}", ()
    for peers in ("spec.ingress[].from[]", "spec.egress[].to[]"):
        for at, peer in matching_values(manifest.body, pattern(peers)):
            name = dig(peer, "namespaceSelector", "matchLabels", NAMESPACE_NAME)
            yield from output.open_namespace(name, (*at, "namespaceSelector"))
            if "from" in at:
                yield from _client(output, peer, name, at)


def _client(output: Output, peer: Any, namespace: Any, path: Path) -> Found:
    """Yields what a client of a tenant's pods needs: its namespace, or a load balancer."""
    if dig(peer, "ipBlock"):
        yield "load-balancer-controller", (*path, "ipBlock")
    of_charts = (release.namespace for release in output.releases.values())
    if isinstance(namespace, str) and namespace not in (*ALWAYS_PLATFORM, *output.objects.namespaces, *of_charts):
        yield f"namespace/{namespace}", (*path, "namespaceSelector")


def _cilium_policy(output: Output, manifest: Manifest) -> Found:
    yield f"network-policy-engine/{output.engine}", ()
    for at, name in matching_values(manifest.body, pattern("spec.egress[].toFQDNs[]")):
        yield "cilium-feature/l7-proxy", at
        if str(dig(name, "matchPattern")).startswith("**."):
            yield "cilium-feature/multi-level-names", at
    for at, entity in matching_values(manifest.body, pattern("spec.ingress[].fromEntities[]")):
        if entity == "ingress":
            yield "cilium-feature/gateway", at


_OF_ROLE = ("access-entry", "pass-role")
_FIELDS: Mapping[tuple[str, str], Sequence[tuple[str, ...]]] = {
    ("karpenter.k8s.aws", "EC2NodeClass"): (
        ("spec.role", "iam-role", *_OF_ROLE),
        ("spec.instanceProfile", "instance-profile", *_OF_ROLE),
        ("spec.capacityReservationSelectorTerms[].id", "capacity-reservation"),
        ("spec.placementGroupSelector.name", "placement-group"),
        ("spec.blockDeviceMappings[].ebs.kmsKeyID", "kms-key"),
    ),
    (GROUP, "Topology"): (("spec.levels[].nodeLabel", "node-label"),),
}
"""The fields in which objects name a thing outside of the output, each with the kind of the need."""


_KINDS: Mapping[tuple[str, str], Callable[[Output, Manifest], Found]] = {
    ("karpenter.k8s.aws", "EC2NodeClass"): _node_class,
    ("karpenter.sh", "NodePool"): _node_pool,
    ("", "PersistentVolume"): _volume,
    ("", "ServiceAccount"): _service_account,
    (RBAC, "RoleBinding"): _binding,
    (RBAC, "ClusterRoleBinding"): _binding,
    (ARGO, "Application"): _application,
    ("monitoring.coreos.com", "AlertmanagerConfig"): _notifications,
    ("monitoring.coreos.com", "PodMonitor"): _monitoring,
    ("monitoring.coreos.com", "PrometheusRule"): _monitoring,
    ("monitoring.coreos.com", "ServiceMonitor"): _monitoring,
    ("networking.k8s.io", "NetworkPolicy"): _policy,
    ("cilium.io", "CiliumNetworkPolicy"): _cilium_policy,
}
"""The function for each kind of object that needs something from outside."""
