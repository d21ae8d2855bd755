"""Planted faults: what people get wrong, in the tree of prod-use1, and where the rehearsal has to show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gpuc.kubernetes.kueue import KUEUE_API
from gpuc.model.names import POOL_LABEL
from gpuc.rehearse.client import Object
from gpuc.rehearse.outcome import Component
from gpuc.rehearse.plane.settings import Settings
from gpuc.rehearse.suites import Case
from tests.conformance.breaking import (
    Break,
    added,
    both,
    granted,
    missing,
    other_flavor,
    other_key,
    overlay,
    quota,
    renamed,
    uncovered,
    value,
)

MIG = "nvidia.com/mig-3g.40gb"
SERVE = "serve-a100-p4de-24xlarge"
TOPOLOGY = {
    "apiVersion": KUEUE_API,
    "kind": "Topology",
    "metadata": {"name": "zone-host"},
    "spec": {"levels": [{"nodeLabel": "topology.kubernetes.io/zone"}, {"nodeLabel": "kubernetes.io/hostname"}]},
}
GROUP = "spec resourceGroups 0 flavors"


def _with_topology(pool: str, name: str) -> Object:
    """The flavor of a dynamic pool, but with a topology, which a flavor that exists cannot be given and keep."""
    spec = {"nodeLabels": {POOL_LABEL: pool}, "topologyName": name}
    return {"apiVersion": KUEUE_API, "kind": "ResourceFlavor", "metadata": {"name": "near"}, "spec": spec}


@dataclass(frozen=True)
class Fault:
    """One mistake in one place."""

    pitfall: str
    """Its id."""
    what: str
    """What is wrong."""
    step: str
    """Where it has to show: apply, health, or a family of scenes."""
    by: Component | str
    """The program that says so."""
    words: str
    """Part of what it says; for a scene that is to be refused and is not, empty."""
    breaks: Break | None = None
    """What is done to the documents."""
    settings: Callable[[Settings], Settings] | None = None
    """What is done to the values that programs start with."""
    scene: str = ""
    """Part of the name of the scene that has to fail."""
    verdict: str = ""
    """What becomes of the scene; empty for any other outcome than the expected one."""

    def names(self, scene: Case) -> bool:
        """Whether it is the scene that has to fail."""
        return bool(self.scene) and f" {self.scene}" in f" {scene.name}"


def _gate_off(given: Settings) -> Settings:
    return replace(given, karpenter_gates={**given.karpenter_gates, "NodeOverlay": False})


def _impatient(given: Settings) -> Settings:
    """Nodes of a rehearsal boot in seconds: so does the timeout that is too short for them."""
    patience = {**given.kueue_configuration["waitForPodsReady"], "timeout": "1s"}
    return replace(given, kueue_configuration={**given.kueue_configuration, "waitForPodsReady": patience})


FAULTS = (
    Fault("KRP-001", "a MIG pool has no overlay", "smallest", "Karpenter", "no instance type has enough resources",
          missing("NodeOverlay", SERVE), scene=f"search serve-a100 one {MIG}"),
    Fault("KRP-001", "the gate of overlays is off", "smallest", "Karpenter", "no instance type has enough resources",
          settings=_gate_off, scene=f"search serve-a100 one {MIG}"),
    Fault("KRP-002", "an overlay says half of the layout", "full_node", "Karpenter", "no instance type has enough",
          overlay(SERVE, MIG, "4"), scene="search serve-a100 a full p4de.24xlarge"),
    Fault("EFA-003", "an EFA pool's overlay has no huge pages", "efa", "Karpenter", "no instance type has enough",
          missing("NodeOverlay", "train-h100-p5-48xlarge"), scene="research train-h100 all EFA"),
    Fault("KRP-003", "a flavor selects a label that exists only after boot", "smallest", "Karpenter",
          "does not have known values",
          value("ResourceFlavor", "train-h100", "spec nodeLabels nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"),
          scene="research train-h100 one nvidia.com/gpu"),
    Fault("KRP-004", "a limit is smaller than one node", "smallest", "Karpenter", "exceed limits for nodepool",
          value("NodePool", "train-h100", "spec limits nvidia.com/gpu", "4"), scene="research train-h100 one nvidia"),
    Fault("KRP-009", "a GPU pool has no taint", "boundaries", "", "",
          value("NodePool", "serve-a100", "spec template spec taints", None),
          scene="search-serving pod without a toleration on serve-a100", verdict="unanswered"),
    Fault("KRP-012", "a budget has a schedule without a duration", "apply", "API server", "'schedule' must be set with",
          value("NodePool", "dev-l4", "spec disruption budgets 1 duration", None)),
    Fault("KRP-014", "a dynamic pool becomes static", "apply", "API server", "static",
          value("NodePool", "train-h100", "spec replicas", 2)),
    Fault("KRP-017", "a node label is of a restricted domain", "apply", "API server", "is restricted",
          value("NodePool", "dev-l4", "spec template metadata labels karpenter.k8s.aws/mine", "x")),
    Fault("KUE-001", "EFA is not covered", "efa", "Kueue", "resource vpc.amazonaws.com/efa unavailable in ClusterQueue",
          uncovered("research", "vpc.amazonaws.com/efa"), scene="research train-h100 one EFA"),
    Fault("KUE-001", "ephemeral storage is not covered", "smallest", "Kueue",
          "resource ephemeral-storage unavailable in ClusterQueue", uncovered("search", "ephemeral-storage"),
          scene="search train-h100 one nvidia"),
    Fault("KUE-002", "a queue selects no namespace", "smallest", "Kueue",
          "namespace doesn't match ClusterQueue selector",
          value("ClusterQueue", "platform-ml", "spec namespaceSelector", None), scene="platform-ml embed-l40s"),
    Fault("KUE-002", "a namespace has no LocalQueue", "smallest", "Kueue", "LocalQueue platform-ml doesn't exist",
          missing("LocalQueue", "platform-ml", "embeddings"), scene="platform-ml embed-l40s"),
    Fault("KUE-003", "a queue names a flavor that is not there", "health", "Kueue", "FlavorNotFound",
          other_flavor("research", "train-h100", "h200")),
    Fault("KUE-003", "a flavor names a topology that is not there", "health", "Kueue", "TopologyNotFound",
          both(added(_with_topology("train-h100", "racks")), other_flavor("research", "train-h100", "near"))),
    Fault("KUE-003", "a queue was left stopped", "health", "Kueue", "Stopped",
          value("ClusterQueue", "search", "spec stopPolicy", "Hold")),
    Fault("KUE-004", "a flavor lacks a toleration", "smallest", "Karpenter", "did not tolerate taint",
          value("ResourceFlavor", "dev-l4", "spec tolerations 1", None), scene="research dev-l4 one"),
    Fault("KUE-004", "a flavor has a taint that nobody tolerates", "smallest", "Kueue", "untolerated taint",
          value("ResourceFlavor", "general", "spec nodeTaints", [{"key": "x", "value": "y", "effect": "NoSchedule"}]),
          scene="research-cpu general a little cpu"),
    Fault("KUE-005", "topology-aware scheduling on a pool that starts from nothing", "smallest", "Kueue",
          "no topology domains at level",
          both(added(TOPOLOGY), added(_with_topology("embed-l40s", "zone-host")),
               other_flavor("platform-ml", "embed-l40s", "near")),
          scene="platform-ml embed-l40s"),
    Fault("KUE-005", "topology-aware and other flavors stand in one queue", "smallest", "Kueue",
          "supports only TopologyAwareScheduling",
          both(added(TOPOLOGY), added(_with_topology("train-h100", "zone-host")),
               other_flavor("research", "train-h100", "near")),
          scene="research train-h100 one nvidia"),
    Fault("KUE-007", "a limit of borrowing without a cohort", "apply", "API server", "borrowingLimit",
          value("ClusterQueue", "platform-ml", f"{GROUP} 0 resources 0 borrowingLimit", "1")),
    Fault("KUE-008", "nothing is lent", "borrowing", "Kueue", "insufficient quota for",
          quota("search", "train-h100", lendingLimit="0"), scene="research train-h100"),
    Fault("KUE-008", "the cohort's name is misspelled", "borrowing", "Kueue", "insufficient quota for",
          value("ClusterQueue", "search", "spec cohortName", "compnay"), scene="research batch-a100"),
    Fault("KUE-009", "a quota is smaller than a gang", "gangs", "Kueue", "insufficient quota for nvidia.com/gpu.shared",
          quota("platform-ml", "embed-l40s", nominalQuota="1"), scene="platform-ml embed-l40s 96 pods"),
    Fault("KUE-017", "the host is not the last level of a topology", "apply", "API server", "hostname",
          added({**TOPOLOGY, "spec": {"levels": TOPOLOGY["spec"]["levels"][::-1]}})),  # type: ignore[index]
    Fault("SHR-002", "a queue meters shares under the name of whole GPUs", "smallest", "Kueue",
          "resource nvidia.com/gpu.shared unavailable in ClusterQueue",
          renamed("platform-ml", "nvidia.com/gpu.shared", "nvidia.com/gpu"), scene="platform-ml embed-l40s"),
    Fault("SHR-002", "an overlay says the plain name where the plugin renames", "smallest", "Karpenter",
          "no instance type has enough resources", overlay("embed-l40s-g6e-12xlarge", "nvidia.com/gpu.shared", None),
          scene="platform-ml embed-l40s"),
    Fault("TEN-001", "a quota's key lacks requests.", "boundaries", "", "",
          other_key(("search-serving",), f"requests.{MIG}", MIG), scene=f"search-serving 32 {MIG}", verdict="admitted"),
    Fault("TEN-001", "a quota's key says limits.", "boundaries", "", "",
          other_key(("search-serving",), f"requests.{MIG}", f"limits.{MIG}"), scene=f"search-serving 32 {MIG}",
          verdict="admitted"),
    Fault("TEN-003", "a namespace has quota and no defaults", "policies", "API server",
          "failed quota: gpuc: must specify",
          missing("LimitRange", "gpuc", "search-serving"),
          scene="search-serving permitted: GPU without cpu and memory"),
    Fault("TEN-006", "a role lets a tenant make queues", "boundaries", "", "",
          granted("search-serving", "gpuc-edit", "kueue.x-k8s.io", "localqueues"),
          scene="search-serving: create a LocalQueue", verdict="admitted"),
    Fault("TEN-007", "nobody asks for a queue", "policies", "", "",
          missing("GpucQueueRequired", "queue-required-search"),
          scene="search-serving queue-required: A Job without labels", verdict="admitted"),
    Fault("KUE-011", "a namespace's quota is tighter than its queue", "boundaries", "quota", "exceeded quota",
          value("ResourceQuota", "gpuc", f"spec hard requests.{MIG}", "16", "search-serving"),
          scene=f"search-serving 32 {MIG}"),
    Fault("GKP-001", "a constraint selects nothing, and the platform is not excluded", "policies", "policy",
          "host-network",
          both(value("GpucHostNetwork", "host-network", "spec match namespaceSelector", None),
               value("Config", "config", "spec match 1 excludedNamespaces", ["argocd"], "gatekeeper-system")),
          scene="kube-system host-network"),
    Fault("GKP-001", "a tenant's constraint selects nothing and catches another tenant", "policies", "policy",
          "queue-required-search",
          value("GpucQueueRequired", "queue-required-search", "spec match namespaceSelector", None),
          scene="research-lab permitted: Job in queue research"),
    Fault("GKP-004", "a constraint has a parameter that its template does not know", "apply", "API server",
          "field not declared in schema", value("GpucGpuLimits", "gpu-limits-search", "spec parameters most", 8)),
    Fault("GKP-004", "a template's expression does not compile", "health", "Gatekeeper", "undefined field",
          value("ConstraintTemplate", "gpucgpulimits",
                "spec targets 0 code 0 source validations 0 expression", "variables.gpu == 1")),
    Fault("ARG-001", "constraints are synced before their templates", "apply", "API server", "GpucGpuLimits"),
    Fault("KUE-006", "admitted work has less time than its node takes", "smallest", "", "nodes for",
          settings=_impatient, scene="search serve-a100 one nvidia.com/mig-1g.10gb", verdict="unanswered"),
)  # fmt: skip

INVISIBLE = {
    "GKP-001": "a constraint without a selector, as long as Gatekeeper's own Config excludes the platform: two places "
    "have to be wrong",
    "KRP-002": "a figure too high: Karpenter starts a node for too many pods, and further nodes for those that do not "
    "fit; only a pod larger than a node would wait, which the policy gpu-limits refuses",
    "KRP-005": "nodes are simulated and nothing runs for days",
    "EFA-001, EFA-002": "simulated nodes carry every device from the start; no plugin, no launch template",
    "MIG-001, MIG-002, MIG-003, MIG-004, MIG-005": "no driver partitions anything: simulated nodes advertise what the "
    "layout says",
    "SHR-001": "no device plugin",
    "GPU-001, GPU-002, GPU-003": "no operator, no container runtime; DaemonSets start no pods",
    "NET-001, NET-002": "nobody enforces NetworkPolicies: the isolation proof judges them",
    "ARG-002": "no Argo CD prunes",
    "KUE-006": "in minutes: simulated nodes boot in seconds, the table's row shrinks the timeout with them",
}
"""Starred pitfalls that no program of the rehearsal sees, and why."""
