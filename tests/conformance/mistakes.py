"""Mistakes of users in the objects of prod-use1, and where the rehearsal must show them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gpuc.kubernetes.kueue import KUEUE_API
from gpuc.model.names import POOL_LABEL
from gpuc.trace.steps import Component
from gpuc_rehearsal.client import Object
from gpuc_rehearsal.plane.site import Settings
from gpuc_rehearsal.suites import Case
from tests.conformance.object_edits import (
    Edit,
    add_object,
    add_role_rule,
    combine,
    remove_covered_resource,
    remove_object,
    rename_hard_limit,
    replace_flavor,
    set_field,
    set_overlay_capacity,
    set_quotas,
)
from tests.conformance.shared_plane import kueue_configuration

MIG = "nvidia.com/mig-3g.40gb"
LAB = "lab-h100-p5-48xlarge"
TOPOLOGY = {
    "apiVersion": KUEUE_API,
    "kind": "Topology",
    "metadata": {"name": "zone-host"},
    "spec": {"levels": [{"nodeLabel": "topology.kubernetes.io/zone"}, {"nodeLabel": "kubernetes.io/hostname"}]},
}


def _with_topology(pool: str, name: str) -> Object:
    """A second flavor of a dynamic pool, with a topology. The topology of an existing flavor cannot be changed."""
    spec = {"nodeLabels": {POOL_LABEL: pool}, "topologyName": name}
    return {"apiVersion": KUEUE_API, "kind": "ResourceFlavor", "metadata": {"name": "with-topology"}, "spec": spec}


@dataclass(frozen=True)
class Mistake:
    """A mistake of a user and its expected effect in the rehearsal."""

    pitfall: str
    """The id of the pitfall, such as KRP-001."""
    title: str
    """A sentence that describes the mistake."""
    step: str
    """Where the mistake must show: apply, health, or the name of a suite."""
    component: Component | str
    """The component that must report the mistake."""
    message: str
    """A part of the component's message; empty if a test case expects a refusal and the mistake prevents it."""
    edit: Edit | None = None
    """Makes the mistake in the documents."""
    settings: Callable[[Settings], Settings] | None = None
    """Makes the mistake in the settings of the programs."""
    case: str = ""
    """A part of the name of the test case that must fail."""
    verdict: str = ""
    """The actual verdict of the test case; empty for any verdict except the expected one."""

    def must_fail(self, case: Case) -> bool:
        """Returns whether the mistake must make a test case fail."""
        return bool(self.case) and f" {self.case}" in f" {case.name}"


def _disable_overlays(settings: Settings) -> Settings:
    return replace(settings, feature_gates={**settings.feature_gates, "NodeOverlay": False})


def _shorten_timeout(settings: Settings) -> Settings:
    """Sets waitForPodsReady to 1 s, because simulated nodes boot in seconds."""
    configuration = kueue_configuration(settings)
    wait = {**configuration["waitForPodsReady"], "timeout": "1s"}
    return replace(settings, kueue_configuration={**configuration, "waitForPodsReady": wait})


def _gate_all_pods(settings: Settings) -> Settings:
    """Enables Kueue's pod integration, and lets Kueue manage pods without a queue."""
    configuration = kueue_configuration(settings)
    frameworks = [*configuration["integrations"]["frameworks"], "pod"]
    changed = {
        **configuration,
        "integrations": {**configuration["integrations"], "frameworks": frameworks},
        "manageJobsWithoutQueueName": True,
    }
    return replace(settings, kueue_configuration=changed)


MISTAKES = (
    Mistake("KRP-001", "a MIG pool has no overlay", "smallest", "Karpenter", "no instance type has enough resources",
            remove_object("NodeOverlay", LAB), case=f"research lab-h100 one {MIG}"),
    Mistake("KRP-001", "the gate of overlays is off", "smallest", "Karpenter", "no instance type has enough resources",
            settings=_disable_overlays, case=f"research lab-h100 one {MIG}"),
    Mistake("KRP-002", "an overlay has half of the slices of the layout", "full_node", "Karpenter",
            "no instance type has enough",
            set_overlay_capacity(LAB, MIG, "2"), case="research lab-h100 a full p5.48xlarge"),
    Mistake("EFA-003", "an EFA pool's overlay has no huge pages", "efa", "Karpenter", "no instance type has enough",
            remove_object("NodeOverlay", "train-h100-p5-48xlarge"), case="research train-h100 all EFA"),
    Mistake("KRP-003", "a flavor selects a label that exists only after boot", "smallest", "Karpenter",
            "does not have known values",
            set_field("ResourceFlavor", "train-h100", "spec nodeLabels nvidia.com/gpu.product",
            "NVIDIA-H100-80GB-HBM3"),
            case="research train-h100 one nvidia.com/gpu"),
    Mistake("KRP-004", "a limit is smaller than one node", "smallest", "Karpenter", "exceed limits for nodepool",
            set_field("NodePool", "train-h100", "spec limits nvidia.com/gpu", "4"),
            case="research train-h100 one nvidia"),
    Mistake("KRP-009", "a GPU pool has no taint", "boundaries", "", "",
            set_field("NodePool", "serve-a100", "spec template spec taints", None),
            case="search-serving pod without a toleration on serve-a100", verdict="unanswered"),
    Mistake("KRP-012", "a budget has a schedule without a duration", "apply", "API server",
            "'schedule' must be set with",
            set_field("NodePool", "dev-l4", "spec disruption budgets 1 duration", None)),
    Mistake("KRP-014", "a dynamic pool becomes static", "apply", "API server", "static",
            set_field("NodePool", "train-h100", "spec replicas", 2)),
    Mistake("KRP-017", "a node label uses a restricted domain", "apply", "API server", "is restricted",
            set_field("NodePool", "dev-l4", "spec template metadata labels karpenter.k8s.aws/mine", "x")),
    Mistake("KUE-001", "EFA is not covered", "efa", "Kueue",
            "resource vpc.amazonaws.com/efa unavailable in ClusterQueue",
            remove_covered_resource("research", "vpc.amazonaws.com/efa"), case="research train-h100 one EFA"),
    Mistake("KUE-001", "ephemeral storage is not covered", "smallest", "Kueue",
            "resource ephemeral-storage unavailable in ClusterQueue", remove_covered_resource("search",
            "ephemeral-storage"),
            case="search train-h100 one nvidia"),
    Mistake("KUE-002", "a queue selects no namespace", "smallest", "Kueue",
            "namespace doesn't match ClusterQueue selector",
            set_field("ClusterQueue", "research", "spec namespaceSelector", None), case="research dev-l4"),
    Mistake("KUE-002", "a namespace has no LocalQueue", "smallest", "Kueue", "LocalQueue research doesn't exist",
            remove_object("LocalQueue", "research", "research-lab"), case="research dev-l4"),
    Mistake("KUE-003", "a queue references a flavor that does not exist", "health", "Kueue", "FlavorNotFound",
            replace_flavor("research", "train-h100", "h200")),
    Mistake("KUE-003", "a flavor references a topology that does not exist", "health", "Kueue", "TopologyNotFound",
            combine(add_object(_with_topology("train-h100", "racks")), replace_flavor("research", "train-h100",
            "with-topology"))),
    Mistake("KUE-003", "a queue is stopped", "health", "Kueue", "Stopped",
            set_field("ClusterQueue", "search", "spec stopPolicy", "Hold")),
    Mistake("KUE-004", "a flavor lacks a toleration", "smallest", "Karpenter", "did not tolerate taint",
            set_field("ResourceFlavor", "dev-l4", "spec tolerations 1", None), case="research dev-l4 one"),
    Mistake("KUE-004", "a flavor has a taint that no workload tolerates", "smallest", "Kueue", "untolerated taint",
            set_field("ResourceFlavor", "general", "spec nodeTaints", [{"key": "x", "value": "y",
            "effect": "NoSchedule"}]),
            case="research-cpu general 100m cpu"),
    Mistake("KUE-005", "topology-aware scheduling on a pool that scales from zero", "smallest", "Kueue",
            "no topology domains at level",
            combine(add_object(TOPOLOGY), add_object(_with_topology("general", "zone-host")),
                 replace_flavor("research-cpu", "general", "with-topology")),
            case="research-cpu general 100m cpu"),
    Mistake("KUE-005", "a queue mixes flavors with and without topology", "smallest", "Kueue",
            "supports only TopologyAwareScheduling",
            combine(add_object(TOPOLOGY), add_object(_with_topology("train-h100", "zone-host")),
                 replace_flavor("research", "train-h100", "with-topology")),
            case="research train-h100 one nvidia"),
    Mistake("KUE-007", "a borrowing limit without a cohort", "apply", "API server", "borrowingLimit",
            set_field("ClusterQueue", "search", "spec cohortName", None)),
    Mistake("KUE-008", "the lending limit is zero", "borrowing", "Kueue", "insufficient quota for",
            set_quotas("search", "train-h100", lendingLimit="0"), case="research train-h100"),
    Mistake("KUE-008", "the cohort's name is misspelled", "borrowing", "Kueue", "insufficient quota for",
            set_field("ClusterQueue", "search", "spec cohortName", "compnay"), case="research batch-a100"),
    Mistake("KUE-009", "a quota is smaller than a gang", "gangs", "Kueue",
            "insufficient quota for nvidia.com/gpu.shared",
            set_quotas("research", "dev-l4", nominalQuota="1"), case="research dev-l4 96 pods"),
    Mistake("KUE-017", "the hostname is not the last level of a topology", "apply", "API server", "hostname",
            add_object({**TOPOLOGY, "spec": {"levels": TOPOLOGY["spec"]["levels"][::-1]}})),  # type: ignore[index]
    Mistake("SHR-002", "a queue counts GPU shares as complete GPUs", "smallest", "Kueue",
            "resource nvidia.com/gpu.shared unavailable in ClusterQueue",
            remove_covered_resource("research", "nvidia.com/gpu.shared"), case="research dev-l4"),
    Mistake("SHR-002", "an overlay lacks the resource name that the device plugin advertises", "smallest", "Karpenter",
            "no instance type has enough resources", set_overlay_capacity("dev-l4-g6-12xlarge",
            "nvidia.com/gpu.shared", None),
            case="research dev-l4"),
    Mistake("TEN-001", "a quota's key lacks requests.", "boundaries", "", "",
            rename_hard_limit(("search-serving",), f"requests.{MIG}", MIG), case=f"search-serving 32 {MIG}",
            verdict="admitted"),
    Mistake("TEN-001", "a quota's key has the prefix limits.", "boundaries", "", "",
            rename_hard_limit(("search-serving",), f"requests.{MIG}", f"limits.{MIG}"), case=f"search-serving 32 {MIG}",
            verdict="admitted"),
    Mistake("TEN-003", "a namespace has a ResourceQuota but no LimitRange", "policies", "API server",
            "failed quota: gpuc: must specify",
            remove_object("LimitRange", "gpuc", "search-serving"),
            case="search-serving permitted: pod without requests for cpu and memory"),
    Mistake("TEN-006", "a role allows a tenant to create queues", "boundaries", "", "",
            add_role_rule("search-serving", "gpuc-edit", "kueue.x-k8s.io", "localqueues"),
            case="search-serving: create a LocalQueue", verdict="admitted"),
    Mistake("TEN-007", "no policy requires a queue", "policies", "", "",
            remove_object("GpucQueueRequired", "queue-required-search"),
            case="search-serving queue-required: A Job without labels", verdict="admitted"),
    Mistake("KUE-011", "a ResourceQuota is smaller than the quota of the queue", "boundaries", "quota",
            "exceeded quota",
            set_field("ResourceQuota", "gpuc", f"spec hard requests.{MIG}", "16", "search-serving"),
            case=f"search-serving 32 {MIG}"),
    Mistake("GKP-001", "a constraint has no selector, and Gatekeeper does not exclude the platform", "policies",
            "policy",
            "host-network",
            combine(set_field("GpucHostNetwork", "host-network", "spec match namespaceSelector", None),
                 set_field("Config", "config", "spec match 1 excludedNamespaces", ["argocd"], "gatekeeper-system")),
            case="kube-system host-network"),
    Mistake("GKP-001", "a tenant's constraint has no selector and applies to another tenant", "policies", "policy",
            "queue-required-search",
            set_field("GpucQueueRequired", "queue-required-search", "spec match namespaceSelector", None),
            case="research-lab permitted: Job in queue research"),
    Mistake("GKP-004", "a constraint has a parameter that its template does not declare", "apply", "API server",
            "field not declared in schema", set_field("GpucGpuLimits", "gpu-limits-search", "spec parameters most", 8)),
    Mistake("GKP-004", "a template's expression does not compile", "health", "Gatekeeper", "undefined field",
            set_field("ConstraintTemplate", "gpucgpulimits",
                  "spec targets 0 code 0 source validations 0 expression", "variables.gpu == 1")),
    Mistake("ARG-001", "constraints are synced before their templates", "apply", "API server", "GpucGpuLimits"),
    Mistake("KUE-006", "the timeout of waitForPodsReady is shorter than the boot of a node", "smallest", "",
            "nodes for",
            settings=_shorten_timeout, case="research lab-h100 one nvidia.com/mig-1g.10gb", verdict="unanswered"),
    Mistake("TEN-007", "the policy gpu-quota is at dryrun", "counted", "", "no objection",
            set_field("GpucGpuQuota", "gpu-quota-research", "spec enforcementAction", "dryrun"),
            case="research-train pod with a GPU of pool train-h100", verdict="admitted"),
    Mistake("KUE-011", "a ResourceQuota is larger than the quota of its pool", "serving", "", "5 pods exist",
            set_field("ResourceQuota", "gpuc", f"spec hard requests.{MIG}", "64", "search-serving"),
            case=f"search-serving Deployment with 4 pods of 8 {MIG}", verdict="admitted"),
    Mistake("KUE-010", "Kueue manages pods without a queue", "serving", "Kueue", "kueue.x-k8s.io/admission",
            settings=_gate_all_pods, case="search-serving pod as large as a p4de.24xlarge", verdict="pending"),
)  # fmt: skip

NOT_DETECTED = {
    "GKP-001": "Gatekeeper's own Config excludes the platform, so a constraint without a selector has no effect there; "
    "both objects have to be wrong",
    "KRP-002": "if a capacity is too high, Karpenter starts a node for too many pods, and further nodes for the pods "
    "that do not fit; only a pod larger than a node would stay pending, and the policy gpu-limits denies that pod",
    "KRP-005": "nodes are simulated, and no rehearsal runs for days",
    "EFA-001, EFA-002": "simulated nodes have all devices from the start; the rehearsal has no device plugin and no "
    "launch template",
    "MIG-001, MIG-002, MIG-003, MIG-004, MIG-005": "no driver partitions a GPU; simulated nodes advertise the slices "
    "of the layout",
    "SHR-001": "the rehearsal has no device plugin",
    "GPU-001, GPU-002, GPU-003": "the rehearsal has no GPU Operator and no container runtime; DaemonSets start no pods",
    "NET-001, NET-002": "the rehearsal does not enforce NetworkPolicies; `gpuc isolation` analyzes them",
    "ARG-002": "without --argocd, the rehearsal has no Argo CD, so nothing prunes objects",
    "KUE-006": "a real node takes minutes and a simulated node takes seconds; the mistake here therefore uses 1 s",
}
"""Pitfalls with a star that the rehearsal cannot show, with the reason."""
