"""Arguments, environments and volumes of pods of Deployments and Jobs."""

from pathlib import Path
from typing import Any

import pytest

from gpuc_rehearsal.argocd.pods import (
    arguments,
    deployment_of,
    environment,
    is_of_job,
    mounts,
    namespace_labels,
    relocated,
    service_of,
    with_flags,
)

CONTAINER: dict[str, Any] = {
    "name": "manager",
    "command": ["/manager"],
    "args": ["--config=/config.yaml", "--pod=$(POD_NAME)", "--unknown=$(NOTHING)"],
    "env": [
        {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "TEAM", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['example.com/team']"}}},
        {"name": "WHERE", "value": "pod=$(POD_NAME)"},
        {"name": "LEVEL", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "level"}}},
        {"name": "ABSENT", "valueFrom": {"secretKeyRef": {"name": "none", "key": "key", "optional": True}}},
        {"name": "SHARE", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
    ],
    "ports": [{"name": "webhook-server", "containerPort": 9443}, {"name": "metrics", "containerPort": 8443}],
    "volumeMounts": [
        {"name": "certs", "mountPath": "/certs"},
        {"name": "config", "mountPath": "/config.yaml", "subPath": "config.yaml"},
        {"name": "scratch", "mountPath": "/certs/inner/tmp"},
    ],
}
POD: dict[str, Any] = {
    "metadata": {
        "name": "manager-7d9f-x2x",
        "namespace": "system",
        "labels": {"app": "manager", "pod-template-hash": "7d9f", "example.com/team": "ml"},
        "ownerReferences": [{"kind": "ReplicaSet", "name": "manager-7d9f"}],
    },
    "spec": {
        "containers": [CONTAINER],
        "volumes": [
            {"name": "certs", "secret": {"secretName": "server-cert"}},
            {"name": "config", "configMap": {"name": "settings"}},
            {"name": "scratch", "emptyDir": {}},
        ],
    },
}


def lookup(kind: str, name: str) -> dict[str, str]:
    return {"level": "debug"} if (kind, name) == ("ConfigMap", "settings") else {}


def service(selector: dict[str, str], target: str | int) -> dict[str, Any]:
    ports = [{"port": 443, "targetPort": target}]
    return {"metadata": {"name": "s"}, "spec": {"selector": selector, "clusterIP": "127.64.0.9", "ports": ports}}


def test_the_environment_has_fields_and_keys_and_omits_missing_references() -> None:
    assert environment(POD, CONTAINER, lookup) == {
        "POD_NAME": "manager-7d9f-x2x",
        "TEAM": "ml",
        "WHERE": "pod=manager-7d9f-x2x",
        "LEVEL": "debug",
    }


def test_arguments_are_expanded_and_an_unknown_variable_stays() -> None:
    words = arguments(CONTAINER, {"POD_NAME": "one"})
    assert words == ["--config=/config.yaml", "--pod=one", "--unknown=$(NOTHING)"]


def test_the_deepest_volume_decides_where_a_path_lies() -> None:
    mounted = [(mount, Path("/run") / mount.path.strip("/")) for mount in mounts(POD, CONTAINER)]
    assert relocated("--dir=/certs/inner/tmp/x", mounted) == "--dir=/run/certs/inner/tmp/x"
    assert relocated("--cert=/certs/tls.crt", mounted) == "--cert=/run/certs/tls.crt"
    assert relocated("/config.yaml", mounted) == "/run/config.yaml"
    assert relocated("--cert=/certs-of-others/tls.crt", mounted) == "--cert=/certs-of-others/tls.crt"


def test_mounts_have_the_name_of_their_source() -> None:
    found = {mount.path: (mount.kind, mount.name, mount.sub_path) for mount in mounts(POD, CONTAINER)}
    assert found == {
        "/certs": ("Secret", "server-cert", ""),
        "/config.yaml": ("ConfigMap", "settings", "config.yaml"),
        "/certs/inner/tmp": ("", "", ""),
    }


def test_flags_of_this_machine_replace_those_of_the_pod() -> None:
    words = ["--port=8443", "--health-addr=:9090", "--operation=webhook"]
    assert with_flags(words, {"port": "1", "health-addr": "127.0.0.1:2"}) == [
        "--operation=webhook",
        "--port=1",
        "--health-addr=127.0.0.1:2",
    ]


@pytest.mark.parametrize("target", ["webhook-server", 9443])
def test_a_service_leads_to_a_port_by_name_or_number(target: str | int) -> None:
    services = [service({"app": "other"}, target), service({}, target), service({"app": "manager"}, target)]
    assert service_of(services, POD, "webhook-server") == ("127.64.0.9", 443)


def test_a_service_of_another_port_is_not_taken() -> None:
    assert service_of([service({"app": "manager"}, "metrics")], POD, "webhook-server") is None


def test_the_deployment_is_read_from_the_replica_set() -> None:
    assert deployment_of(POD) == ("manager", "7d9f")
    job = {"metadata": {"name": "j", "ownerReferences": [{"kind": "Job", "name": "j"}]}}
    assert (deployment_of(job), is_of_job(job), is_of_job(POD)) == (("", ""), True, False)


def test_a_job_that_labels_its_namespace_is_recognised() -> None:
    words = ["label", "ns", "gatekeeper-system", "a/ignore=self", "b/level=restricted", "--overwrite"]
    assert namespace_labels({"args": words}) == (["gatekeeper-system"], {"a/ignore": "self", "b/level": "restricted"})
    assert namespace_labels({"args": ["delete", "ns", "gatekeeper-system"]}) == ([], {})
