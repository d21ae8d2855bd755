"""kwok, which sets the status of nodes and pods as kubelets do, and Karpenter with the cloud provider of kwok."""

from __future__ import annotations

import json
from pathlib import Path

from gpuc.manifest.manifest import Body
from gpuc.rehearse.client import new_object
from gpuc.rehearse.context import HOLD
from gpuc.rehearse.plane.site import Settings, Site
from gpuc.rehearse.process import LOOPBACK, Process

STAGE_API = "kwok.x-k8s.io/v1alpha1"
FAKE_NODE = "kwok.x-k8s.io/node=fake"
"""Annotation of the nodes that kwok manages, as key=value."""
READY_AFTER = "gpuc.dev/rehearsal-ready-after"
"""Annotation of a pod that becomes ready late: the delay as a duration, for example 10s. Without it there is no delay.

Source: kwok v0.7.0 pkg/apis/v1alpha1/stage_types.go, StageDelay
"""
LEASE_SECONDS = 40
BATCH_MAX_DURATION = "2s"


def start_kwok(site: Site, settings: Settings) -> Process:
    """Starts kwok with Stages for pods and with the settings' Stages for nodes. A Stage is one rule of kwok."""
    port = site.port()
    config = site.folder / "kwok.yaml"
    ignored = settings.ignored_namespaces
    managed = [matches(".metadata.namespace", "NotIn", *ignored)] if ignored else []
    stages = [*settings.node_stages, _idle_node(), _running_pod(managed), _completed_pod(managed), _deleted_pod()]
    config.write_text("".join(f"---\n{json.dumps(stage)}\n" for stage in stages), encoding="utf-8")
    arguments = [
        f"--kubeconfig={site.kubeconfig}",
        f"--config={config}",
        "--manage-all-nodes=false",
        f"--manage-nodes-with-annotation-selector={FAKE_NODE}",
        f"--server-address={LOOPBACK}:{port}",
        f"--node-lease-duration-seconds={LEASE_SECONDS}",
    ]
    return site.run("kwok", arguments, f"http://{LOOPBACK}:{port}/healthz")


def start_karpenter(site: Site, settings: Settings) -> Process:
    """Starts Karpenter with the instance types of the settings. kwok simulates the nodes."""
    health = site.port()
    environment = karpenter_environment(site, settings, site.folder, health)
    return site.run("karpenter-kwok", [], f"http://{LOOPBACK}:{health}/readyz", environment)


def karpenter_environment(site: Site, settings: Settings, folder: Path, health: int) -> dict[str, str]:
    """Returns the environment of Karpenter, and writes the instance types to a folder. health is a port."""
    types = folder / "instance-types.json"
    types.write_text(json.dumps(list(settings.instance_types), indent=1) + "\n", encoding="utf-8")
    gates = ",".join(f"{name}={str(enabled).lower()}" for name, enabled in sorted(settings.karpenter_gates.items()))
    return {
        "KUBECONFIG": str(site.kubeconfig),
        "DISABLE_LEADER_ELECTION": "true",
        "FEATURE_GATES": gates,
        # Karpenter waits until no new pods arrive, but test cases create pods continuously. So the wait is limited.
        "BATCH_MAX_DURATION": BATCH_MAX_DURATION,
        "INSTANCE_TYPES_FILE_PATH": str(types),
        "METRICS_PORT": str(site.port()),
        "HEALTH_PROBE_PORT": str(health),
    }


def stage(name: str, kind: str, selector: Body, next_state: Body) -> Body:
    """Returns a Stage: kwok changes the objects of a kind that the selector matches to the next state."""
    spec = {"resourceRef": {"apiGroup": "v1", "kind": kind}, "selector": selector, "next": next_state}
    return new_object(STAGE_API, "Stage", name, spec=spec)


def matches(key: str, operator: str, *values: str) -> Body:
    """Returns a condition of a Stage's selector. The key is a jq path."""
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


def _idle_node() -> Body:
    """Returns a Stage that matches no node, because no name is empty. kwok only renews the leases of ready nodes."""
    selector = {"matchExpressions": [matches(".status.phase", "In", "Running"), matches(".metadata.name", "In", "")]}
    return stage("node-idle", "Node", selector, {})


def _running_pod(managed: list[Body]) -> Body:
    waiting = [
        matches(".metadata.deletionTimestamp", "DoesNotExist"),
        matches(".status.podIP", "DoesNotExist"),
        *managed,
    ]
    running = stage("pod-running", "Pod", {"matchExpressions": waiting}, {"statusTemplate": _RUNNING})
    delay = {"durationMilliseconds": 0, "durationFrom": {"expressionFrom": f'.metadata.annotations["{READY_AFTER}"]'}}
    running["spec"]["delay"] = delay
    return running


def _completed_pod(managed: list[Body]) -> Body:
    running = [
        *managed,
        matches(".metadata.deletionTimestamp", "DoesNotExist"),
        matches(".status.phase", "In", "Running"),
        matches(".metadata.ownerReferences.[].kind", "In", "Job"),
        *(matches(f'.metadata.annotations["{key}"]', "NotIn", value) for key, value in HOLD.items()),
    ]
    return stage("pod-completed", "Pod", {"matchExpressions": running}, {"statusTemplate": _COMPLETED})


def _deleted_pod() -> Body:
    terminating = [matches(".metadata.deletionTimestamp", "Exists")]
    next_state = {"finalizers": {"empty": True}, "delete": True}
    return stage("pod-deleted", "Pod", {"matchExpressions": terminating}, next_state)


_RUNNING = """
{{ $now := Now | Quote }}
phase: Running
startTime: {{ $now }}
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
podIP: {{ PodIPWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "" )
  ( or .metadata.name "" ) ( or .metadata.namespace "" ) | Quote }}
conditions:
{{ range $type := list "Initialized" "ContainersReady" "Ready" }}
- {type: {{ $type }}, status: "True", lastTransitionTime: {{ $now }}}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: true
  restartCount: 0
  state: {running: {startedAt: {{ $now }}}}
{{ end }}
{{ with .spec.initContainers }}
initContainerStatuses:
{{ range . }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: true
  restartCount: 0
  state: {terminated: {exitCode: 0, reason: Completed, startedAt: {{ $now }}, finishedAt: {{ $now }}}}
{{ end }}
{{ end }}
"""

_COMPLETED = """
{{ $now := Now | Quote }}
phase: Succeeded
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: false
  restartCount: 0
  started: false
  state: {terminated: {exitCode: 0, reason: Completed, startedAt: {{ $now }}, finishedAt: {{ $now }}}}
{{ end }}
"""
