"""Generates random pod specs that every policy and every Pod Security level of the namespace allows."""

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, GIB, MEMORY, MIB, Amounts, scale, texts
from gpuc.kubernetes.kueue import REQUIRED_TOPOLOGY
from gpuc.model import Cluster, Pool
from gpuc.model.names import EFA, GPU, HUGEPAGES, POOL_LABEL, SHARED_GPU
from gpuc_rehearsal.client import Object
from gpuc_rehearsal.context import HOLD
from gpuc_rehearsal.sample_workloads import max_per_pod, security_context
from tests.tables import table

if TYPE_CHECKING:
    from tests.conformance.random_workloads import Target

SMALL: Amounts = {CPU: 50, MEMORY: 64 * MIB}
"""The requests of a container beside the main container."""
HALF = 0.5
VALUES: dict[str, Any] = table(__file__, "random_pods.yaml")
PREFERRED_TOPOLOGY = "kueue.x-k8s.io/podset-preferred-topology"


@dataclass(frozen=True)
class Size:
    """The requests of the main container."""

    requests: Amounts
    nodes: float
    """The part of a node that one pod uses."""


def random_size(random: Random, pool: Pool, most_nodes: float) -> Size:
    """Returns random requests for a pod of a pool that uses at most a number of nodes, if that is possible."""
    names = [*pool.gpu_resource_names]
    if not names:
        part = min(random.choice((0.02, 0.05, 0.1, 0.25)), most_nodes)
        requests = {CPU: int(pool.node[CPU] * part), MEMORY: int(pool.node[MEMORY] * part) // MIB * MIB}
        return Size(requests, _part(pool, requests))
    resource = random.choice(names)
    most = 1 if resource == SHARED_GPU else max_per_pod(pool, resource)
    possible = [count for count in (1, 2, 4, most) if count <= most and count / most <= most_nodes] or [1]
    count = random.choice(possible)
    base = scale({name: pool.portions[resource][name] for name in (CPU, MEMORY)}, count)
    requests = scale(base, random.choice((20, 50, 90)), 100)
    requests[CPU] = max(100, requests[CPU] // 100 * 100)
    if random.random() < HALF:
        requests[EPHEMERAL_STORAGE] = random.choice((1, 5)) * GIB
    requests[resource] = count
    if resource == GPU and count == most and pool.has_efa and random.random() < HALF:
        efa = max_per_pod(pool, EFA)
        requests[EFA] = random.choice((efa, efa, max(1, efa // 2)))
        if pool.hugepages_bytes:
            requests[HUGEPAGES] = pool.hugepages_bytes
    return Size(requests, _part(pool, requests))


def _part(pool: Pool, requests: Amounts) -> float:
    return max((count / pool.node[name] for name, count in requests.items() if pool.node.get(name)), default=0)


class PodMaker:
    """Makes pod specs for a target."""

    def __init__(self, cluster: Cluster, target: "Target", random: Random, name: str, size: Size) -> None:
        self._cluster, self._target, self._random, self._name, self._size = cluster, target, random, name, size
        self._pool = target.pool
        level = target.namespace.spec.pod_security
        self._restricted = level == "restricted" or random.random() < HALF

    def annotations(self) -> dict[str, str]:
        """Returns the annotations of a pod. Pods run until their deletion, so that all pods are counted."""
        random, annotations = self._random, dict(HOLD)
        if random.random() < 0.3:
            annotations["karpenter.sh/do-not-disrupt"] = "true"
        labels = list(self._pool.level_labels.values()) if self._target.queue else []
        if labels and random.random() < HALF:
            key = random.choice((REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY))
            annotations[key] = random.choice(labels)
        return annotations

    def spec(self, restart_policy: str) -> Object:
        """Returns a pod spec."""
        random = self._random
        spec: Object = {"containers": [self._main()]}
        if restart_policy != "Always" or random.random() < 0.2:
            spec["restartPolicy"] = restart_policy
        self._add_containers(spec)
        self._add_volumes(spec)
        self._add_placement(spec)
        if self._restricted:
            spec["securityContext"] = security_context(self._pool)
        elif self._pool.mps_user is not None:
            spec["securityContext"] = {"runAsUser": self._pool.mps_user}
        elif random.random() < 0.3:
            spec["securityContext"] = {"fsGroup": 2000}
        if random.random() < HALF:
            spec["automountServiceAccountToken"] = False
        if random.random() < 0.2:
            spec["serviceAccountName"] = "default"
        if random.random() < 0.4:
            spec["terminationGracePeriodSeconds"] = random.choice((10, 30, 60, 120))
        for field, value in VALUES["fields"].items():
            if random.random() < 0.1:
                spec[field] = value
        return spec

    def _main(self) -> Object:
        random = self._random
        container: Object = {"name": random.choice(("work", "main", "trainer", "server")), "image": self._image()}
        container["resources"] = self._resources()
        if self._restricted:
            container["securityContext"] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        elif random.random() < 0.4:
            container["securityContext"] = {"allowPrivilegeEscalation": False}
        if random.random() < 0.7:
            container["command"] = random.choice((["python3", "train.py"], ["sh", "-c", "exec ./run"], ["./server"]))
        if random.random() < 0.3:
            container["args"] = ["--batch", "32"]
        if env := self._env():
            container["env"] = env
        nccl = self._target.namespace.nccl
        if nccl and (EFA in self._size.requests or random.random() < 0.3):
            container["envFrom"] = [{"configMapRef": {"name": nccl.config_map}}]
        if random.random() < 0.4:
            port = random.choice((8000, 8080, 9400))
            container["ports"] = [{"containerPort": port, "name": "http"}]
            self._add_probes(container, port)
        if random.random() < 0.3:
            container["imagePullPolicy"] = random.choice(("Always", "IfNotPresent"))
        if random.random() < 0.2:
            container["lifecycle"] = {"preStop": random.choice(({"sleep": {"seconds": 5}}, VALUES["command"]))}
        return container

    def _resources(self) -> Object:
        """Returns the resources of the main container: devices have equal limits and requests."""
        random, quantities = self._random, texts(self._size.requests)
        devices = {name: text for name, text in quantities.items() if "/" in name or name.startswith("hugepages-")}
        if devices and random.random() < 0.2:
            devices = {name: int(text) if text.isdigit() else text for name, text in devices.items()}  # type: ignore[misc]
        base = {name: text for name, text in quantities.items() if name not in devices}
        style = random.choice(("equal", "requests", "limits", "higher limits"))
        if style == "equal":
            return {"requests": {**base, **devices}, "limits": {**base, **devices}}
        if style == "limits":
            return {"limits": {**base, **devices}}
        higher = {}
        if style == "higher limits":
            doubled = {CPU: 2 * self._size.requests[CPU], MEMORY: 2 * self._size.requests[MEMORY]}
            higher = texts(doubled)
        limits = {**higher, **devices}
        repeated = devices if random.random() < HALF else {}
        return {"requests": {**base, **repeated}, **({"limits": limits} if limits else {})}

    def _image(self) -> str:
        registries = self._cluster.policy_settings("images").get("registries", ["registry.example.com/"])
        name = self._random.choice(("train:1.2", "serve:2026-08", "tools", f"base@sha256:{'0a' * 32}"))
        return f"{self._random.choice(list(registries))}team/{name}"

    def _env(self) -> list[Object]:
        random = self._random
        return random.sample(VALUES["env"], random.randint(0, 3))

    def _add_probes(self, container: Object, port: int) -> None:
        random = self._random
        actions: list[Object] = [
            {"httpGet": {"path": "/health", "port": "http"}},
            {"tcpSocket": {"port": port}},
            VALUES["command"],
            {"grpc": {"port": port}},
        ]
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            if random.random() < 0.4:
                container[probe] = {**random.choice(actions), "periodSeconds": random.choice((5, 10))}
                if random.random() < HALF:
                    container[probe]["failureThreshold"] = random.choice((3, 30))

    def _add_containers(self, spec: Object) -> None:
        """Adds an init container, a sidecar, or a second container, with small requests or with none."""
        random = self._random
        if random.random() < 0.2:
            spec["containers"].append(self._second("exporter"))
        init = []
        if random.random() < 0.2:
            init.append(self._second("download"))
        if random.random() < 0.15:
            init.append({**self._second("proxy"), "restartPolicy": "Always"})
        if init:
            spec["initContainers"] = init

    def _second(self, name: str) -> Object:
        container: Object = {"name": name, "image": self._image()}
        if self._restricted:
            container["securityContext"] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        if self._random.random() < 0.7:
            container["resources"] = {"requests": texts(SMALL)}
        return container

    def _add_volumes(self, spec: Object) -> None:
        random, volumes, mounts = self._random, [], []
        if self._pool.mps_user is None and random.random() < 0.4:
            volumes.append({"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}})
            mounts.append({"name": "shm", "mountPath": "/dev/shm"})
        for name, source, path in VALUES["volumes"]:
            if random.random() < 0.12:
                volumes.append({"name": name, **source})
                mounts.append({"name": name, "mountPath": path})
        if volumes:
            spec["volumes"] = volumes
            spec["containers"][0]["volumeMounts"] = mounts

    def _add_placement(self, spec: Object) -> None:
        """Adds node selector, tolerations, affinity and spread constraints that nodes of the pool satisfy."""
        random, pool, target = self._random, self._pool, self._target
        if selector := self._node_selector():
            spec["nodeSelector"] = selector
        if not target.queue or random.random() < 0.2:
            spec["tolerations"] = [taint.toleration() for taint in pool.taints]
        affinity: Object = {}
        if random.random() < 0.15:
            affinity["nodeAffinity"] = self._node_affinity()
        if random.random() < 0.1:
            affinity["podAntiAffinity"] = self._spread_hosts()
        if affinity:
            spec["affinity"] = affinity
        if random.random() < 0.2:
            spec["topologySpreadConstraints"] = [self._spread()]

    def _node_selector(self) -> dict[str, str]:
        random, pool, selector = self._random, self._pool, dict[str, str]()
        if not self._target.queue or pool.is_gpu or random.random() < HALF:
            selector[POOL_LABEL] = pool.name
        for key, value, probability in (
            ("kubernetes.io/arch", "amd64", 0.2),
            ("kubernetes.io/os", "linux", 0.1),
            ("node.kubernetes.io/instance-type", random.choice(pool.instances).type, 0.1),
        ):
            if random.random() < probability:
                selector[key] = value
        return selector

    def _node_affinity(self) -> Object:
        random, pool = self._random, self._pool
        zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": list(pool.zones)}
        capacity = {"key": "karpenter.sh/capacity-type", "operator": "NotIn", "values": ["unknown"]}
        types = {
            "key": "node.kubernetes.io/instance-type",
            "operator": "In",
            "values": [instance.type for instance in pool.instances],
        }
        term = {"matchExpressions": [random.choice((zone, capacity, types))]}
        if random.random() < 0.4:
            return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": term}]}
        return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}

    def _spread_hosts(self) -> Object:
        selector = {"matchLabels": {"app.kubernetes.io/name": self._name}}
        term = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
        return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}

    def _spread(self) -> Object:
        return {
            "maxSkew": self._random.choice((1, 2)),
            "topologyKey": self._random.choice(("kubernetes.io/hostname", "topology.kubernetes.io/zone")),
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app.kubernetes.io/name": self._name}},
        }
