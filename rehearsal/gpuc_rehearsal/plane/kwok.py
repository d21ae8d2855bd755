"""kwok, which sets the status of nodes and pods as kubelets do."""

from __future__ import annotations

import json
from pathlib import Path

from gpuc.documents.reader import load_all_yaml
from gpuc.manifest.manifest import Body
from gpuc_rehearsal.client import new_object
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
    """Starts kwok with the Stages of stages.yaml and of the settings. A Stage is one rule of kwok."""
    port = site.port()
    config = site.folder / "kwok.yaml"
    stages: list[Body] = load_all_yaml(Path(__file__).with_name("stages.yaml").read_text(encoding="utf-8"))
    for row in stages if settings.ignored_namespaces else ():
        if row["metadata"]["name"] in ("pod-running", "pod-completed"):
            ignores = matches(".metadata.namespace", "NotIn", *settings.ignored_namespaces)
            row["spec"]["selector"]["matchExpressions"].insert(0, ignores)
    documents = (json.dumps(row) for row in (*settings.node_stages, *stages))
    config.write_text("".join(f"---\n{document}\n" for document in documents), encoding="utf-8")
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
