"""Verbs and options of kubectl.

Source: Kubernetes v1.35.4, staging/src/k8s.io/kubectl/pkg/cmd and
staging/src/k8s.io/cli-runtime/pkg/genericclioptions/config_flags.go; `kubectl VERB --help` prints the same options.
"""

from __future__ import annotations

GLOBAL = {
    "--as": 1, "--as-group": 1, "--cluster": 1, "--context": 1, "--kubeconfig": 1, "--namespace": 1,
    "--request-timeout": 1, "--server": 1, "--token": 1, "--user": 1, "--v": 1,
}  # fmt: skip
SHORT = {
    "-n": "--namespace", "-s": "--server", "-v": "--v", "-o": "--output", "-l": "--selector", "-A": "--all-namespaces",
    "-f": "--filename", "-k": "--kustomize", "-R": "--recursive", "-L": "--label-columns", "-w": "--watch",
    "-p": "--patch", "-c": "--container", "-q": "--quiet",
}  # fmt: skip
_FILES = {"--filename": 1, "--kustomize": 1, "--recursive": 0}
_PRINT = {"--output": 1, "--template": 1, "--show-managed-fields": 0}
_SELECT = {"--selector": 1, "--field-selector": 1, "--all-namespaces": 0}
_EDIT = {**_FILES, **_PRINT, "--dry-run": 1, "--field-manager": 1}
_ANNOTATE = {
    **_EDIT, **_SELECT, "--all": 0, "--list": 0, "--local": 0, "--overwrite": 0, "--resource-version": 1,
}  # fmt: skip
VERBS: dict[str, dict[str, int | None]] = {
    "get": {
        **_FILES, **_PRINT, **_SELECT, "--chunk-size": 1, "--ignore-not-found": 0, "--label-columns": 1,
        "--no-headers": 0, "--output-watch-events": 0, "--raw": 1, "--server-print": 0, "--show-kind": 0,
        "--show-labels": 0, "--sort-by": 1, "--subresource": 1, "--watch": 0, "--watch-only": 0,
    },
    "describe": {**_FILES, "--selector": 1, "--all-namespaces": 0, "--chunk-size": 1, "--show-events": 0},
    "logs": {
        "--all-containers": 0, "--all-pods": 0, "--container": 1, "--follow": 0, "--ignore-errors": 0,
        "--limit-bytes": 1, "--prefix": 0, "--previous": 0, "--selector": 1, "--since": 1, "--since-time": 1,
        "--tail": 1, "--timestamps": 0,
    },
    "delete": {
        **_FILES, **_SELECT, "--all": 0, "--cascade": 1, "--dry-run": 1, "--force": 0, "--grace-period": 1,
        "--ignore-not-found": 0, "--now": 0, "--output": 1, "--raw": 1, "--timeout": 1, "--wait": 0,
    },
    "patch": {**_EDIT, "--local": 0, "--patch": 1, "--patch-file": 1, "--subresource": 1, "--type": 1},
    "annotate": _ANNOTATE,
    "label": _ANNOTATE,
    "cordon": {"--dry-run": 1, "--selector": 1},
    "uncordon": {"--dry-run": 1, "--selector": 1},
    "drain": {
        "--delete-emptydir-data": 0, "--disable-eviction": 0, "--dry-run": 1, "--force": 0, "--grace-period": 1,
        "--ignore-daemonsets": 0, "--pod-selector": 1, "--selector": 1, "--timeout": 1,
    },
    "taint": {**_PRINT, "--all": 0, "--dry-run": 1, "--field-manager": 1, "--overwrite": 0, "--selector": 1},
    "apply": {
        **_EDIT, "--all": 0, "--force": 0, "--force-conflicts": 0, "--prune": 0, "--selector": 1, "--server-side": 0,
        "--timeout": 1, "--validate": 1, "--wait": 0,
    },
    "create": {**_EDIT, "--raw": 1, "--save-config": 0, "--selector": 1, "--validate": 1},
    "diff": {**_FILES, "--server-side": 0, "--force-conflicts": 0, "--selector": 1},
    "wait": {**_FILES, **_PRINT, **_SELECT, "--all": 0, "--for": 1, "--timeout": 1},
    "scale": {**_EDIT, "--all": 0, "--current-replicas": 1, "--replicas": 1, "--selector": 1, "--timeout": 1},
    "explain": {"--api-version": 1, "--output": 1, "--recursive": 0},
    "version": {"--client": 0, "--output": 1},
    "api-resources": {"--api-group": 1, "--namespaced": 0, "--no-headers": 0, "--output": 1, "--verbs": 1},
    "auth can-i": {
        "--all-namespaces": 0, "--list": 0, "--no-headers": 0, "--quiet": 0, "--subresource": 1,
    },
    "auth whoami": _PRINT,
    "rollout status": {**_FILES, "--revision": 1, "--selector": 1, "--timeout": 1, "--watch": 0},
    "rollout restart": {**_EDIT, "--selector": 1},
    "config get-contexts": {"--no-headers": 0, "--output": 1},
    "config current-context": {},
    "create namespace": {**_PRINT, "--dry-run": 1, "--field-manager": 1, "--save-config": 0, "--validate": 1},
    "create secret generic": {
        **_PRINT, "--dry-run": 1, "--from-literal": 1, "--from-file": 1, "--from-env-file": 1, "--type": 1,
        "--append-hash": 0, "--field-manager": 1, "--save-config": 0, "--validate": 1,
    },
    "create token": {"--audience": 1, "--duration": 1, "--output": 1, "--bound-object-kind": 1},
}  # fmt: skip
READING = (
    "get", "describe", "logs", "diff", "wait", "explain", "version", "api-resources", "auth can-i", "auth whoami",
    "rollout status", "config get-contexts", "config current-context",
)  # fmt: skip
OPTIONAL_VALUES = {
    "--output": (
        "json", "yaml", "name", "wide", "jsonpath", "jsonpath-file", "jsonpath-as-json", "custom-columns",
        "custom-columns-file", "go-template", "go-template-file", "template",
    ),
    "--dry-run": ("none", "server", "client"),
    "--cascade": ("background", "orphan", "foreground"),
    "--type": ("json", "merge", "strategic"),
}  # fmt: skip
"""The values of options that have few; `--output` has some of them with a text, for example jsonpath=TEMPLATE."""
ANY_FIELD = ("metadata.name", "metadata.namespace")
FIELD_SELECTORS = {
    "pods": (
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
        "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
    ),
    "nodes": ("spec.unschedulable",),
    "events": (
        "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
        "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
        "reportingComponent", "source", "type",
    ),
}  # fmt: skip
"""Fields by which the API server selects objects. Source: Kubernetes v1.35.4, pkg/apis/core/v1/conversion.go."""
CORE = {
    "nodes": ("no", "node", False), "pods": ("po", "pod", True), "events": ("ev", "event", True),
    "namespaces": ("ns", "namespace", False), "configmaps": ("cm", "configmap", True),
    "services": ("svc", "service", True), "serviceaccounts": ("sa", "serviceaccount", True),
    "deployments": ("deploy", "deployment", True), "daemonsets": ("ds", "daemonset", True),
    "secrets": ("", "secret", True), "persistentvolumeclaims": ("pvc", "persistentvolumeclaim", True),
    "storageclasses": ("sc", "storageclass", False), "replicasets": ("rs", "replicaset", True),
    "statefulsets": ("sts", "statefulset", True), "cronjobs": ("cj", "cronjob", True),
    "ingresses": ("ing", "ingress", True), "priorityclasses": ("pc", "priorityclass", False),
    "customresourcedefinitions": ("crd", "customresourcedefinition", False), "csidrivers": ("", "csidriver", False),
    "apiservices": ("", "apiservice", False), "leases": ("", "lease", True),
    "endpointslices": ("", "endpointslice", True),
}  # fmt: skip
"""Kinds of Kubernetes beyond gpuc's catalog, and kinds with a short name: the short name, the singular, the scope.

Source: `kubectl api-resources` of Kubernetes v1.35.
"""
CUSTOM = {
    "nodeclaims.karpenter.sh": ("nodeclaim", False),
    "workloads.kueue.x-k8s.io": ("workload", True),
    "constraints.constraints.gatekeeper.sh": ("constraint", False),
    "ciliumnodes.cilium.io": ("ciliumnode", False),
    "eniconfigs.crd.k8s.amazonaws.com": ("eniconfig", False),
}
"""Kinds that controllers create and gpuc does not write: the singular and the scope.

Source: the CustomResourceDefinitions of Karpenter v1.14.1, Kueue v0.19.2, Cilium v1.20 and the VPC CNI v1.22.
`constraints` is a category of all kinds of constraints: open-policy-agent/frameworks/constraint,
pkg/client/crds/crds.go.
"""
