"""kwok, which simulates the kubelet: it makes nodes ready and runs pods."""

from __future__ import annotations

import json
from collections.abc import Sequence

from gpuc.manifest.manifest import Body
from gpuc.rehearse.context import HOLD
from gpuc.rehearse.plane.settings import Settings
from gpuc.rehearse.plane.site import Site
from gpuc.rehearse.ports import LOOPBACK
from gpuc.rehearse.process import Process

STAGE_API = "kwok.x-k8s.io/v1alpha1"
FAKE_NODE = "kwok.x-k8s.io/node=fake"
"""Annotation of the nodes that kwok manages."""
LEASE_SECONDS = 40


def start_kwok(site: Site, settings: Settings) -> Process:
    """Starts kwok with Stages for pods and with the Stages for nodes in the settings."""
    port = site.port()
    config = site.folder / "kwok.yaml"
    stages = [*settings.node_stages, _heartbeat(), *_pods(settings.other_kubelet), _deleted()]
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


def stage(name: str, kind: str, selector: Body, following: Body) -> Body:
    """A Stage: the next state of objects that a selector matches."""
    spec = {"resourceRef": {"apiGroup": "v1", "kind": kind}, "selector": selector, "next": following}
    return {"apiVersion": STAGE_API, "kind": "Stage", "metadata": {"name": name}, "spec": spec}


def matches(key: str, operator: str, *values: str) -> Body:
    """A condition of a selector; the key is a jq path."""
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


def _heartbeat() -> Body:
    """A Stage that never changes ready nodes; kwok only renews their lease."""
    selector = {"matchExpressions": [matches(".status.phase", "In", "Running"), matches(".metadata.name", "In", "")]}
    return stage("node-idle", "Node", selector, {})


def _pods(other_kubelet: Sequence[str]) -> list[Body]:
    managed = [matches(".metadata.namespace", "NotIn", *other_kubelet)] if other_kubelet else []
    return [_running(managed), _completed(managed)]


def _running(managed: list[Body]) -> Body:
    waiting = [
        matches(".metadata.deletionTimestamp", "DoesNotExist"),
        matches(".status.podIP", "DoesNotExist"),
        *managed,
    ]
    return stage("pod-running", "Pod", {"matchExpressions": waiting}, {"statusTemplate": _RUNNING})


def _completed(managed: list[Body]) -> Body:
    running = [
        *managed,
        matches(".metadata.deletionTimestamp", "DoesNotExist"),
        matches(".status.phase", "In", "Running"),
        matches(".metadata.ownerReferences.[].kind", "In", "Job"),
        *(matches(f'.metadata.annotations["{key}"]', "NotIn", value) for key, value in HOLD.items()),
    ]
    return stage("pod-completed", "Pod", {"matchExpressions": running}, {"statusTemplate": _COMPLETED})


def _deleted() -> Body:
    leaving = [matches(".metadata.deletionTimestamp", "Exists")]
    following = {"finalizers": {"empty": True}, "delete": True}
    return stage("pod-deleted", "Pod", {"matchExpressions": leaving}, following)


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
