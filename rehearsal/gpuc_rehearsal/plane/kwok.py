"""kwok, which sets the status of nodes and pods as kubelets do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from gpuc.manifest.manifest import Body
from gpuc_rehearsal.client import new_object
from gpuc_rehearsal.context import HOLD
from gpuc_rehearsal.plane.site import Settings, Site, flags
from gpuc_rehearsal.process import LOOPBACK, Process

STAGE_API = "kwok.x-k8s.io/v1alpha1"
FAKE_NODE = "kwok.x-k8s.io/node=fake"
"""Annotation of the nodes that kwok manages, as key=value."""
READY_AFTER = "gpuc.dev/rehearsal-ready-after"
"""Annotation of a pod that becomes ready late: the delay as a duration, for example 10s. Without it there is no delay.

Source: kwok v0.7.0 pkg/apis/v1alpha1/stage_types.go, StageDelay
"""


def start_kwok(site: Site, settings: Settings) -> Process:
    """Starts kwok with Stages for pods and with the settings' Stages for nodes. A Stage is one rule of kwok."""
    port = site.port()
    config = site.folder / "kwok.yaml"
    ignored = settings.ignored_namespaces
    managed = [matches(".metadata.namespace", "NotIn", *ignored)] if ignored else []
    stages = [*settings.node_stages, *_other_stages(managed)]
    config.write_text("".join(f"---\n{json.dumps(stage)}\n" for stage in stages), encoding="utf-8")
    arguments = flags("kwok", site=site, config=config, fake_node=FAKE_NODE, port=port)
    return site.run("kwok", arguments, f"http://{LOOPBACK}:{port}/healthz")


def stage(name: str, kind: str, selector: Body, next_state: Body) -> Body:
    """Returns a Stage: kwok changes the objects of a kind that the selector matches to the next state."""
    spec = {"resourceRef": {"apiGroup": "v1", "kind": kind}, "selector": selector, "next": next_state}
    return new_object(STAGE_API, "Stage", name, spec=spec)


def matches(key: str, operator: str, *values: str) -> Body:
    """Returns a condition of a Stage's selector. The key is a jq path."""
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


def status_template(name: str) -> str:
    """Returns a Go template of kwok for the status of a node or a pod."""
    return Path(__file__).with_name(f"{name}.tmpl").read_text(encoding="utf-8")


def _other_stages(managed: list[Body]) -> Iterator[Body]:
    """Yields the Stages that no setting changes. `managed` selects the pods that kwok manages."""
    # This Stage matches no node, because no name is empty. kwok only renews the leases of ready nodes.
    idle = [matches(".status.phase", "In", "Running"), matches(".metadata.name", "In", "")]
    yield stage("node-idle", "Node", {"matchExpressions": idle}, {})
    existing = [*managed, matches(".metadata.deletionTimestamp", "DoesNotExist")]
    waiting = [*existing, matches(".status.podIP", "DoesNotExist")]
    next_state = {"statusTemplate": status_template("pod_running")}
    running = stage("pod-running", "Pod", {"matchExpressions": waiting}, next_state)
    delay = {"durationMilliseconds": 0, "durationFrom": {"expressionFrom": f'.metadata.annotations["{READY_AFTER}"]'}}
    running["spec"]["delay"] = delay
    yield running
    ending = [
        *existing,
        matches(".status.phase", "In", "Running"),
        matches(".metadata.ownerReferences.[].kind", "In", "Job"),
        *(matches(f'.metadata.annotations["{key}"]', "NotIn", value) for key, value in HOLD.items()),
    ]
    next_state = {"statusTemplate": status_template("pod_completed")}
    yield stage("pod-completed", "Pod", {"matchExpressions": ending}, next_state)
    terminating = [matches(".metadata.deletionTimestamp", "Exists")]
    yield stage(
        "pod-deleted", "Pod", {"matchExpressions": terminating}, {"finalizers": {"empty": True}, "delete": True}
    )
