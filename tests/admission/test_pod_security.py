"""Pod Security: a pod that passes and a pod that fails, for each check of each level."""

from typing import Any

import pytest

from gpuc.admission.pod_security import levels, pod_security
from gpuc.admission.request import Decision, Request
from tests.admission.cluster import NAMESPACE, container, objects, pod
from tests.tables import table

ENFORCE = "pod-security.kubernetes.io/enforce"
SAFE = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
POD = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def _decision(request: Request, labels: dict[str, str]) -> Decision:
    (decision,) = pod_security(objects(labels=labels), request)
    return decision


def _safe(security: Any = None, pod_security_context: Any = None, annotations: Any = None, **fields: Any) -> Request:
    """Returns a request for a pod that level restricted allows, with changes."""
    of_pod = (
        "hostNetwork", "hostPID", "hostIPC", "hostUsers", "volumes", "os", "initContainers", "ephemeralContainers",
    )  # fmt: skip
    spec = {name: value for name, value in fields.items() if name in of_pod}
    main = container(
        securityContext={**SAFE, **(security or {})}, **{k: v for k, v in fields.items() if k not in of_pod}
    )
    return pod(main, securityContext={**POD, **(pod_security_context or {})}, annotations=annotations, **spec)


def _rows(level: str) -> dict[str, tuple[Request, Request, tuple[Any, ...]]]:
    """Returns the passing pod, the failing pod and the field of the failure, by the name of the check."""
    return {
        name: (_safe(**row["passes"]), _safe(**row["fails"]), tuple(row["field"]))
        for name, row in table(__file__, "pod_security.yaml")[level].items()
    }


BASELINE, RESTRICTED = _rows("baseline"), _rows("restricted")


@pytest.mark.parametrize("name", BASELINE)
@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_c27_level_baseline(name: str, level: str) -> None:
    passes, fails, field = BASELINE[name]
    assert _decision(passes, {ENFORCE: level}).outcome == "allowed"
    denied = _decision(fails, {ENFORCE: level})
    assert (denied.outcome, denied.check, denied.field) == ("denied", f"Pod Security {level}", field)
    assert denied.fix
    assert _decision(fails, {ENFORCE: "privileged"}).outcome == "allowed"


@pytest.mark.parametrize("name", RESTRICTED)
def test_c27_level_restricted(name: str) -> None:
    passes, fails, field = RESTRICTED[name]
    assert _decision(passes, {ENFORCE: "restricted"}).outcome == "allowed"
    denied = _decision(fails, {ENFORCE: "restricted"})
    assert (denied.outcome, denied.field) == ("denied", field)
    assert _decision(fails, {ENFORCE: "baseline"}).outcome == "allowed"


OLD_VERSIONS = {
    ("baseline", "v1.33"): _safe(livenessProbe={"httpGet": {"port": 80, "host": "10.0.0.1"}}),
    ("baseline", "v1.18"): _safe({"seccompProfile": {"type": "Unconfined"}}),
    ("restricted", "v1.21"): _safe({"capabilities": {}}),
    ("restricted", "v1.22"): _safe({"runAsUser": 0}),
    ("restricted", "v1.7"): _safe({"allowPrivilegeEscalation": True, "capabilities": {}}),
}


@pytest.mark.parametrize(("level", "version"), OLD_VERSIONS)
def test_an_older_version_has_fewer_checks(level: str, version: str) -> None:
    request = OLD_VERSIONS[level, version]
    labels = {ENFORCE: level, "pod-security.kubernetes.io/warn": "privileged"}
    assert _decision(request, {**labels, f"{ENFORCE}-version": version}).outcome == "allowed"
    assert _decision(request, {**labels, f"{ENFORCE}-version": "v1.99"}).outcome == "denied"


@pytest.mark.parametrize(
    ("version", "request_"),
    [
        ("v1.30", _safe({"seLinuxOptions": {"type": "container_engine_t"}})),
        ("v1.31", _safe(pod_security_context={"sysctls": [{"name": "net.ipv4.tcp_rmem"}]})),
        ("v1.34", _safe({"procMount": "Unmasked"}, hostUsers=False)),
    ],
)
def test_an_older_version_denies_what_a_newer_one_allows(version: str, request_: Request) -> None:
    assert _decision(request_, {ENFORCE: "baseline", f"{ENFORCE}-version": version}).outcome == "denied"
    assert _decision(request_, {ENFORCE: "baseline"}).outcome == "allowed"


def test_windows_needs_no_linux_fields() -> None:
    request = pod(container(), securityContext={"runAsNonRoot": True}, os={"name": "windows"})
    assert _decision(request, {ENFORCE: "restricted"}).outcome == "allowed"


def test_one_message_names_all_violations() -> None:
    request = _safe({"privileged": True}, hostNetwork=True)
    decision = _decision(request, {ENFORCE: "baseline", f"{ENFORCE}-version": "v1.35"})
    assert decision.message == (
        "namespace team enforces Pod Security baseline (v1.35): the pod sets hostNetwork: true; "
        "container main sets securityContext.privileged to true"
    )
    assert decision.fix == "remove hostNetwork; remove securityContext.privileged from container main"
    assert (decision.manifest is not None and decision.manifest.kind, decision.path[-1]) == ("Namespace", ENFORCE)


def test_an_invalid_level_enforces_restricted_and_warns_of_nothing() -> None:
    enforce, warn = levels({ENFORCE: "strict"})
    assert (enforce.name, warn.name) == ("restricted", "privileged")
    assert _decision(pod(), {ENFORCE: "strict"}).outcome == "denied"


def test_warnings_have_the_enforced_level_by_default() -> None:
    deployment = Request(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "d", "namespace": NAMESPACE},
            "spec": {"template": {"spec": {"containers": [container()], "hostNetwork": True}}},
        },
        "user",
    )
    decision = _decision(deployment, {ENFORCE: "baseline"})
    assert (decision.outcome, decision.field) == ("warned", ("spec", "template", "spec", "hostNetwork"))
    silent = {ENFORCE: "baseline", "pod-security.kubernetes.io/warn": "privileged"}
    assert not list(pod_security(objects(labels=silent), deployment))


def test_pods_are_warned_of_a_stricter_level() -> None:
    labels = {ENFORCE: "baseline", "pod-security.kubernetes.io/warn": "restricted"}
    assert _decision(pod(), labels).outcome == "warned"


def test_custom_resources_are_not_checked() -> None:
    job_set = Request({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {}}, "user")
    assert not list(pod_security(objects(labels={ENFORCE: "restricted"}), job_set))


def test_the_level_of_an_unknown_namespace_is_unknown() -> None:
    request = pod()
    request.document["metadata"]["namespace"] = "other"
    (decision,) = pod_security(objects(), request)
    assert (decision.outcome, decision.message) == (
        "unknown",
        "the labels of namespace other are unknown, so its level of Pod Security is unknown",
    )
    request.document["metadata"]["namespace"] = "default"
    (decision,) = pod_security(objects(), request)
    assert decision.outcome == "allowed"
