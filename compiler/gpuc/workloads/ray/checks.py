"""Functions for checks of the kinds of KubeRay that the table of checks, ray.rows, cannot express.

Source: ray-project/kuberay v1.6.2 ray-operator/apis/ray/v1; ray-operator/controllers/ray: common/service.go
(getServicePorts, BuildServiceForHeadPod), utils/util.go (FetchHeadServiceURL); kubernetes-sigs/kueue v0.19.2
pkg/controller/jobs/ray*
"""

from collections import Counter

from gpuc.admission.validation.field import Field, Problems, number
from gpuc.admission.validation.kueue import ANNOTATIONS, ELASTIC

_POD_SETS_MAX = 18
_DASHBOARD, _METRICS = "dashboard", {"metrics": 8080}
_DEFAULT_PORTS = {"client": 10001, "gcs-server": 6379, _DASHBOARD: 8265, **_METRICS, "serve": 8000}
_PORTS = ("template", "spec", "containers", 0, "ports")


def _deletion_strategy(strategy: Field) -> Problems:
    old = [strategy.get(name) is not None for name in ("onSuccess", "onFailure")]
    has_rules = strategy.get("deletionRules") is not None
    if (any(old) and has_rules) or not (all(old) or has_rules):
        yield strategy.problem("expected either onSuccess and onFailure, or deletionRules")


def _autoscaling(field: Field) -> Problems:
    if field.value is True and field.root.get(*ANNOTATIONS, ELASTIC) != "true":
        yield field.problem(f'Kueue allows autoscaling only with the annotation {ELASTIC}: "true"')


def _replicas_of_group(group: Field) -> Problems:
    least, most = number(group.get("minReplicas")), number(group.get("maxReplicas"))
    if least is not None and most is not None and least > most:
        yield group.at("minReplicas").invalid(f"at most maxReplicas, which is {most}")


def _service_ports(head: Field) -> list[tuple[str, int | None]]:
    """Returns names and numbers of the TCP ports of the Service that KubeRay creates for a head."""
    of_service = [row for row in head.rows("headService", "spec", "ports") if row.get("protocol") in (None, "TCP")]
    given = [(str(row.get("name")), number(row.get("port"))) for row in of_service]
    ports = [(row.get("name"), number(row.get("containerPort"))) for row in head.rows(*_PORTS)]
    own = {str(name or f"{port}-port"): port for name, port in ports}
    return [*given, *{**_METRICS, **(own or _DEFAULT_PORTS)}.items()]


def _ports_of_the_head(head: Field) -> Problems:
    counts = Counter(port for _, port in _service_ports(head) if port is not None)
    for port in (port for port, count in counts.items() if count > 1):
        message = f"the Service of the head has port {port} twice; KubeRay adds 8080 if no port has the name metrics"
        yield head.at(*_PORTS).problem(message, "write each port once, and name port 8080 metrics")


def _dashboard_of_the_head(head: Field) -> Problems:
    if _DASHBOARD not in dict(_service_ports(head)):
        message = "no port has the name dashboard, through which KubeRay submits jobs and applications"
        yield head.at(*_PORTS).problem(message, "name port 8265 dashboard")


def _number_of_groups(field: Field) -> Problems:
    count = len(list(field.rows()))
    if count + 1 > _POD_SETS_MAX:
        yield field.problem(f"{count} groups; Kueue allows at most {_POD_SETS_MAX - 1}")
