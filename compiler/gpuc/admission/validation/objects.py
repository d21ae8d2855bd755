"""Checks of objects without pods, written as functions, because no row of a table (see table.py) can describe them.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/validation/validation.go, pkg/apis/autoscaling/validation/validation.go;
k8s.io/apimachinery v0.35.4 pkg/util/validation/validation.go (IsConfigMapKey); Go 1.25 encoding/base64;
kubernetes-sigs/kueue v0.19.2 apis/kueue/v1beta2; kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodeclaim.go
"""

import binascii
import re
from base64 import b64decode

from gpuc.admission.validation.field import Field, Problems, text
from gpuc.kubernetes.node_pool import HOSTNAME

_KEY = re.compile(r"(?!\.$)(?!\.\.)[-._a-zA-Z0-9]{1,253}")


def _key_of_data(field: Field) -> Problems:
    key = field.path[-1]
    if isinstance(key, str) and not _KEY.fullmatch(key):
        yield field.reads(key).invalid("a key of at most 253 letters, digits, -, _ and .")


def _base64(field: Field) -> Problems:
    try:
        b64decode(field.text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        plain = "stringData" if field.path[0] == "data" else "data"
        yield field.problem(f"{field.name} is not in base64, as {field.path[0]} requires; {plain} has plain text")


def _ports_of_service(ports: Field) -> Problems:
    used: set[tuple[str, object]] = set()
    rows = list(ports.rows())
    for row in rows:
        key = text(row.get("protocol")) or "TCP", row.get("port")
        if len(rows) > 1 and not row.get("name"):
            yield row.at("name").missing("a Service with two ports or more needs names")
        if key in used:
            yield row.at("port").problem(f"two ports of the Service are {key[0]} {key[1]}")
        used.add(key)
        if row.get("nodePort") and (ports.beside("type") or "ClusterIP") == "ClusterIP":
            reason = "only Services of type NodePort or LoadBalancer have a nodePort"
            yield row.at("nodePort").problem(reason)


def _bounds_of_replicas(spec: Field) -> Problems:
    low, high = spec.at("minReplicas").number, spec.at("maxReplicas").number
    if low is not None and high is not None and 1 <= high < low:
        yield spec.at("maxReplicas").problem(f"maxReplicas {high} is below minReplicas {low}")


def _level_of_hosts(levels: Field) -> Problems:
    for level in list(levels.rows())[:-1]:
        if level.get("nodeLabel") == HOSTNAME:
            yield level.at("nodeLabel").problem(f"{HOSTNAME} can only be the last level")


def _most_values(least: Field) -> Problems:
    count = len(least.beside("values") or ())
    if count < (least.number or 0):
        yield least.invalid(f"at most {count}, the number of values")
