"""The workload template of an inference pool: a Deployment, a Service and a PodDisruptionBudget."""

from collections.abc import Iterator

from gpuc.emit.commands import serve
from gpuc.emit.workload_template import USAGE, Template
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Pool, Tenant
from gpuc.model.time_limits import MODEL_LOAD_SECONDS

NAME_LABEL = "app.kubernetes.io/name"
DEFAULT_PORT = 8000
"""The port of vLLM and of Triton."""
PROBE_SECONDS = 10
PROGRESS_MARGIN_SECONDS = 300
"""Time for scheduling and for the end of the old pod, in addition to the boot of the node and the load of the model."""
ENDPOINT_SECONDS = 15
"""How long a pod still accepts connections after its deletion, until no load balancer sends requests to it."""
GRACE_SECONDS = 150
"""ENDPOINT_SECONDS, two minutes for running requests, and 15 seconds for the end of the process."""


def serving_template(template: Template) -> Iterator[Manifest]:
    """Yields a Deployment with one replica, a Service, and a PodDisruptionBudget."""
    file, origin = template.cluster.out(f"workloads/{template.pool.name}.yaml"), template.pool.path
    name, namespace, port = template.name, template.place.namespace, serving_port(template.place.tenant)
    selector = {NAME_LABEL: name}
    ports = [{"name": "http", "port": port, "targetPort": "http", "protocol": "TCP"}]
    yield Manifest(file, origin, "v1", "Service", name, {"spec": {"selector": selector, "ports": ports}}, namespace)
    # maxUnavailable, because minAvailable: 1 with one replica would block every drain of a node.
    budget = {"spec": {"maxUnavailable": 1, "selector": {"matchLabels": selector}}}
    yield Manifest(file, origin, "policy/v1", "PodDisruptionBudget", name, budget, namespace)
    usage = template.usage("server", load_minutes=MODEL_LOAD_SECONDS // 60)
    body = {"spec": _deployment(template, selector, port)}
    yield Manifest(file, origin, "apps/v1", "Deployment", name, body, namespace, template.labels, {USAGE: usage})


def serving_port(tenant: Tenant | None) -> int:
    """Returns the first TCP port on which the tenant's NetworkPolicies allow ingress; without one, the port of vLLM.

    Ingress to pods with certain labels does not count, because the pods of the template do not have the labels.
    """
    if tenant is None:
        return DEFAULT_PORT
    entries = (ingress for ingress in tenant.spec.network.ingress if ingress.only_pods is None)
    ports = (port for ingress in entries for port in ingress.ports if port.protocol == "TCP")
    return next((port.port for port in ports), DEFAULT_PORT)


def _deployment(template: Template, selector: dict[str, str], port: int) -> Body:
    return {
        "replicas": template.pods,
        "selector": {"matchLabels": selector},
        # A rollout must not need a GPU that the quota or the pool does not have.
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
        "progressDeadlineSeconds": template.pool.boot_minutes * 60 + MODEL_LOAD_SECONDS + PROGRESS_MARGIN_SECONDS,
        "template": {"metadata": {"labels": selector}, "spec": _pod(template, selector, port)},
    }


def _pod(template: Template, selector: dict[str, str], port: int) -> Body:
    command = serve(port, has_gpu=template.pool.is_gpu)
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        # With DoNotSchedule, the autoscaler would start a node for each replica.
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": selector},
    }
    return {
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": _grace_seconds(template.pool),
        **template.scheduling,
        "topologySpreadConstraints": [spread],
        "securityContext": template.pod_security,
        "containers": [
            {**template.container(command, {"capabilities": {"drop": ["ALL"]}}), **_server(port)},
        ],
        **template.volumes,
    }


def _server(port: int) -> Body:
    """Returns the fields of a container that serves HTTP.

    Without the startup probe, the liveness probe would restart the container while the model is loaded. The kubelet
    runs `sleep`, so the image needs no shell.
    """
    health = {"httpGet": {"path": "/health", "port": "http"}, "timeoutSeconds": 5}
    return {
        "ports": [{"name": "http", "containerPort": port, "protocol": "TCP"}],
        "startupProbe": {
            **health,
            "periodSeconds": PROBE_SECONDS,
            "failureThreshold": -(-MODEL_LOAD_SECONDS // PROBE_SECONDS),
        },
        "readinessProbe": {**health, "periodSeconds": 5, "failureThreshold": 3},
        "livenessProbe": {**health, "periodSeconds": PROBE_SECONDS, "failureThreshold": 6},
        "lifecycle": {"preStop": {"sleep": {"seconds": ENDPOINT_SECONDS}}},
    }


def _grace_seconds(pool: Pool) -> int:
    """Returns the grace period: at most the time to drain a node, and the time of an interruption notice."""
    limits = (pool.scaling.grace_seconds, pool.scaling.notice_seconds) if pool.scaling else ()
    return min([GRACE_SECONDS, *(seconds for seconds in limits if seconds)])
