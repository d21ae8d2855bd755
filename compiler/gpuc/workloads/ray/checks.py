"""Functions for checks of the kinds of KubeRay that the table of checks, ray.rows, cannot express.

Source: ray-project/kuberay v1.6.2 ray-operator/apis/ray/v1; ray-operator/controllers/ray: common/service.go
(getServicePorts, BuildServiceForHeadPod), utils/util.go (FetchHeadServiceURL), utils/validation.go
"""

from collections import Counter
from itertools import combinations

from gpuc.admission.validation.field import Field, Problems, number, shown, text
from gpuc.documents.reader import UNREADABLE, read
from gpuc.objects.object_set import pairs

_SECONDS, _STATUS = ("condition", "ttlSeconds"), ("jobStatus", "jobDeploymentStatus")
_DELETIONS = ("DeleteWorkers", "DeleteCluster", "DeleteSelf")
_DASHBOARD, _METRICS = "dashboard", {"metrics": 8080}
_DEFAULT_PORTS = {"client": 10001, "gcs-server": 6379, _DASHBOARD: 8265, **_METRICS, "serve": 8000}
_CONTAINER = ("template", "spec", "containers", 0)
_PORTS = (*_CONTAINER, "ports")


def _order_of_deletions(rules: Field) -> Problems:
    for pair in combinations((rule for rule in rules.rows() if rule.get("policy") in _DELETIONS), 2):
        first, last = sorted(pair, key=lambda rule: _DELETIONS.index(rule.get("policy")))
        is_same = all(first.get("condition", name) == last.get("condition", name) for name in _STATUS)
        is_early = (number(last.get(*_SECONDS)) or 0) < (number(first.get(*_SECONDS)) or 0)
        if is_same and (is_early or first.get("policy") == last.get("policy")):
            yield pair[1].problem(f"a condition has each policy once, with ttlSeconds in the order {shown(_DELETIONS)}")


def _map_in_yaml(field: Field) -> Problems:
    found = read(field.text, field.name)
    is_broken = any(finding.id == UNREADABLE.id for finding in found.findings)
    if is_broken or not isinstance(dict(found.documents).get(0), dict | None):
        yield field.invalid("a map in YAML")


def _variables_of_the_head(cluster: Field) -> Field:
    """Returns a cluster with the field env: the variables of the first container of the head by name."""
    rows = reversed(list(cluster.rows("headGroupSpec", *_CONTAINER, "env")))
    variables = {text(row.get("name")): text(row.get("value")) for row in rows}
    return cluster.reads({**dict(pairs(cluster.value)), "env": variables})


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
