"""Parts of a cluster besides Argo CD: programs of pods, simulated controllers, prerequisites."""

import json
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gpuc.cluster.application import application_in, applications
from gpuc.pipeline.stages import CompiledSpec
from gpuc.substrates.eks.scaling import aws
from gpuc_rehearsal.argocd.charts import address
from gpuc_rehearsal.argocd.cluster import required_namespaces, system_nodes
from gpuc_rehearsal.argocd.kubelet import running_status, succeeded_status
from gpuc_rehearsal.argocd.pods import Mount, PodRun
from gpuc_rehearsal.argocd.servers import BackgroundLoop
from gpuc_rehearsal.argocd.simulated_controllers import SimulatedControllers
from gpuc_rehearsal.client import ApiError, Client
from gpuc_rehearsal.components.gatekeeper import start as gatekeeper
from gpuc_rehearsal.components.kueue import start as kueue
from gpuc_rehearsal.plane.site import Authority
from gpuc_rehearsal.process import ProgramError
from gpuc_rehearsal.programs import Programs
from gpuc_rehearsal.substrates.eks.karpenter import FINALIZER
from gpuc_rehearsal.substrates.eks.karpenter import start as karpenter


def pod_run(folder: Path, words: list[str], mounted: list[tuple[Mount, Path]], **settings: Any) -> PodRun:
    ports = iter(range(1, 100))
    site = SimpleNamespace(
        port=lambda: next(ports),
        kubeconfig=Path("/kubeconfig"),
        kubeconfig_of=lambda name, user: Path(f"/kubeconfig-{name}-{user}"),
        programs=Programs(Path("/programs")),
        spawn=lambda name, program, words, ready, variables: SimpleNamespace(arguments=words, environment=variables),
    )
    ports_of_pod = [{"name": "webhook-server", "containerPort": 9443}]
    pod = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "manager", "ports": ports_of_pod}]}}
    service = {
        "spec": {"selector": {"app": "x"}, "clusterIP": "127.70.0.9", "ports": [{"port": 443, "targetPort": 9443}]}
    }
    given = cast(Any, SimpleNamespace(**settings))
    return PodRun(cast(Any, site), given, pod, words, {"POD_NAME": "x-1"}, mounted, [service], folder)


def test_kueue_reads_its_config_map_and_listens_at_its_service(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        "leaderElection: {leaderElect: true}\nwebhook: {port: 9443}\nfairSharing: {preemptionStrategies: [A]}\n"
    )
    mounted = [
        (Mount("/config.yaml", "ConfigMap", "c", "config.yaml"), file),
        (Mount("/tmp/k8s-webhook-server/serving-certs", "Secret", "s", ""), tmp_path / "certs"),
    ]
    launch: Any = kueue(pod_run(tmp_path, ["--config=/config.yaml", "--zap-log-level=2"], mounted))
    [config] = [word.partition("=")[2] for word in launch.arguments if word.startswith("--config=")]
    read = json.loads(Path(config).read_text())
    assert read["webhook"] == {"host": "127.70.0.9", "port": 443, "certDir": str(tmp_path / "certs")}
    assert read["leaderElection"] == {"leaderElect": False}
    assert read["fairSharing"] == {"preemptionStrategies": ["A"]}
    assert "--zap-log-level=2" in launch.arguments
    user = "system:serviceaccount:kueue-system:kueue-controller-manager"
    assert launch.environment["KUBECONFIG"] == f"/kubeconfig-kueue-{user}"


def test_only_the_webhook_of_gatekeeper_listens_at_the_service(tmp_path: Path) -> None:
    webhook: Any = gatekeeper(pod_run(tmp_path, ["--port=8443", "--health-addr=:9090", "--operation=webhook"], []))
    audit: Any = gatekeeper(pod_run(tmp_path, ["--health-addr=:9090", "--operation=audit"], []))
    assert {"--host=127.70.0.9", "--port=443", "--operation=webhook"} <= set(webhook.arguments)
    assert not [word for word in audit.arguments if word.startswith(("--host", "--port="))]
    assert not [word for word in webhook.arguments if "=:" in word]


def test_the_rehearsal_overrides_feature_gates_of_karpenter(tmp_path: Path) -> None:
    run = pod_run(tmp_path, [], [], feature_gates={"ReservedCapacity": False}, instance_types=[{"name": "g6.xlarge"}])
    run.variables["FEATURE_GATES"] = "ReservedCapacity=true,NodeOverlay=true"
    launch: Any = karpenter(run)
    gates = dict(pair.split("=") for pair in launch.environment["FEATURE_GATES"].split(","))
    assert gates == {"ReservedCapacity": "false", "NodeOverlay": "true"}
    assert json.loads(Path(launch.environment["INSTANCE_TYPES_FILE_PATH"]).read_text()) == [{"name": "g6.xlarge"}]


class Cluster:
    """A client of objects in memory."""

    def __init__(self, classes: list[dict[str, Any]], claims: list[dict[str, Any]]) -> None:
        self.kinds = {"EC2NodeClass": classes, "NodeClaim": claims}
        self.done: list[tuple[str, ...]] = []

    def serves(self, api: str, kind: str) -> bool:
        return kind in self.kinds

    def list_all(self, api: str, kind: str) -> list[dict[str, Any]]:
        return self.kinds[kind]

    def patch_object(self, document: dict[str, Any], changes: Any, subresource: str = "") -> None:
        self.done.append(("patch", document["metadata"]["name"], subresource or "finalizers"))

    def apply(self, document: dict[str, Any]) -> None:
        self.done.append(("apply", document["kind"], document["metadata"]["name"]))

    def remove_finalizers(self, document: dict[str, Any]) -> None:
        self.done.append(("release", document["metadata"]["name"]))

    def delete(self, api: str, kind: str, name: str) -> None:
        self.done.append(("delete", kind, name))


def actions(classes: list[dict[str, Any]], claims: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    cluster = Cluster(classes, claims)
    SimulatedControllers(cast(Client, cluster), cast(Authority, None), (), ()).reconcile()
    return cluster.done


def test_a_new_node_class_gets_its_finalizer_its_simulated_class_and_is_ready() -> None:
    assert actions([{"metadata": {"name": "general"}}], []) == [
        ("patch", "general", "finalizers"),
        ("apply", "KWOKNodeClass", "general"),
        ("patch", "general", "status"),
    ]


def test_a_node_class_that_is_ready_is_left_alone() -> None:
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    assert actions([{"metadata": {"name": "general", "finalizers": [FINALIZER]}, "status": ready}], []) == []


def test_a_node_class_that_is_deleted_stays_until_its_last_node_is_gone() -> None:
    terminating = {"metadata": {"name": "general", "finalizers": [FINALIZER], "deletionTimestamp": "now"}}
    claim = {"spec": {"nodeClassRef": {"name": "general"}}}
    assert actions([terminating], [claim]) == []
    assert actions([terminating], []) == [("release", "general"), ("delete", "KWOKNodeClass", "general")]


def test_a_loop_continues_after_a_refusal_and_ends_after_another_error() -> None:
    answers = [ApiError(503, "not now"), KeyError("bug")]
    was_last = threading.Event()

    def step() -> None:
        answer = answers.pop(0)
        if not answers:
            was_last.set()
        raise answer

    with BackgroundLoop("the loop", step, 0.001) as loop:
        was_last.wait()
    with pytest.raises(ProgramError, match=r"the loop ended: KeyError\('bug'\)"):
        loop.require_alive()


def test_pods_of_a_deployment_are_ready_and_those_of_a_job_have_ended() -> None:
    pod = {"spec": {"containers": [{"name": "main", "image": "image:1"}]}}
    running, ended = running_status(pod, "10.251.0.2", "now"), succeeded_status(pod, "now")
    assert {"type": "Ready", "status": "True", "lastTransitionTime": "now"} in running["conditions"]
    assert running["podIPs"] == [{"ip": "10.251.0.2"}]
    assert ended["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


def test_namespaces_of_the_first_sync_are_those_that_no_application_creates(prod_spec: CompiledSpec) -> None:
    names = [document["metadata"]["name"] for document in required_namespaces(prod_spec.cluster, prod_spec.synced)]
    assert names == ["ingress-nginx", "monitoring"]


def test_charts_and_their_namespaces_are_read_from_applications(prod_spec: CompiledSpec) -> None:
    found = {source.chart: source for entry in applications(prod_spec.synced) if (source := entry.chart)}
    assert application_in(found["kueue"].application).destination.namespace == "kueue-system"
    assert address(found["kueue"].url) == ("registry.k8s.io", "kueue/charts")
    assert address(found["gatekeeper"].url) == ("open-policy-agent.github.io", "gatekeeper/charts")


def test_controllers_find_nodes_in_every_zone_without_karpenter(prod_spec: CompiledSpec) -> None:
    made = list(system_nodes(prod_spec.cluster))
    zones = {node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in made}
    assert zones == set(aws(prod_spec.cluster).zones)
    assert not [node for node in made if "karpenter.sh/nodepool" in node["metadata"]["labels"]]
    # The taint that the README of the cluster orders: a chart that does not tolerate the taint gets no node.
    assert all(
        node["spec"]["taints"] == [{"key": "CriticalAddonsOnly", "value": "true", "effect": "NoSchedule"}]
        for node in made
    )
