"""Pods with one changed field, and whether the API server refuses them."""

from __future__ import annotations

from tests.admission.validation.bases import DELETE, Case

_C = "spec.containers.0"
_GPU = "spec|containers|0|resources|limits|nvidia.com/gpu"
_LABEL = {"matchLabels": {"app": "a"}}
_AFFINITY = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
_ANTI = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution.0"
_SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": _LABEL}
_VOLUME = {"name": "data", "emptyDir": {}}
_MOUNT = {"name": "data", "mountPath": "/data"}
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_HTTP = {"httpGet": {"port": 8080}}

STRUCTURE = [
    Case("Pod", {"spec.container": [], "metadata.labels": {"a": "b"}}, "spec.container"),
    Case("Pod", {"spec.containers.0.imagePullpolicy": "Always"}),
    Case("Pod", {"spec.terminationGracePeriodSeconds": "30"}),
    Case("Pod", {f"{_C}.args": [1]}, f"{_C}.args.0"),
    Case("Pod", {f"{_C}.env": [{"name": "A", "value": 1}]}, f"{_C}.env.0.value"),
    Case("Pod", {f"{_C}.env": [{"name": "A", "value": True}]}, f"{_C}.env.0.value"),
    Case("Pod", {"spec.hostNetwork": "true"}),
    Case("Pod", {"spec.nodeSelector": {"gpu": True}}, "spec.nodeSelector.gpu"),
    Case("Pod", {"spec.nodeSelector": None, "spec.tolerations": None, f"{_C}.env": None}, None),
    Case("Pod", {f"{_C}.resources": {"limits": {"memory": "8GB"}}}, f"{_C}.resources.limits.memory"),
    Case("Pod", {f"{_C}.resources": {"limits": {"memory": "8gi"}}}, f"{_C}.resources.limits.memory"),
    Case("Pod", {f"{_C}.resources": {"limits": {"cpu": 0.5, "memory": 1e9}}}, None),
    Case("Pod", {f"{_C}.ports": [{"containerPort": 80}, {"containerPort": 80}]}, None),
    Case("Pod", {f"{_C}.env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}, None),
    Case("Pod", {"status": {"phase": "Running"}}, None),
]
METADATA = [
    Case("Pod", {"metadata.name": "Trainer"}),
    Case("Pod", {"metadata.name": "a_b"}),
    Case("Pod", {"metadata.name": "a" * 254}),
    Case("Pod", {"metadata.name": "a.b"}, None),
    Case("Pod", {"metadata.name": DELETE}),
    Case("Pod", {"metadata.name": DELETE, "metadata.generateName": "train-"}, None),
    Case("Pod", {"metadata.generateName": "Train-", "metadata.name": DELETE}),
    Case("Pod", {"metadata.label": {"a": "b"}}),
    Case("Pod", {"metadata.labels": {"team": "a b"}}, "metadata.labels.team"),
    Case("Pod", {"metadata.labels": {"a/b/c": "d"}}, "metadata|labels|a/b/c"),
    Case("Pod", {"metadata.labels": {"team": 1}}, "metadata.labels.team"),
    Case("Pod", {"metadata.labels": {"team": "a" * 64}}, "metadata.labels.team"),
    Case("Pod", {"metadata.labels": {"team": None}}, None),
    Case("Pod", {"metadata.annotations": {"a": True}}, "metadata.annotations.a"),
    Case("Pod", {"metadata.annotations": {"a b": "c"}}, "metadata|annotations|a b"),
    Case("Pod", {"metadata.annotations": {"A.B/c": "d"}}, None),
    Case("Pod", {"metadata.annotations": {"a": "b" * (256 * 1024)}}, "metadata.annotations"),
    Case("Pod", {"metadata.finalizers": ["stop"]}, "metadata.finalizers.0"),
    Case(
        "Pod",
        {"metadata.ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "a"}]},
        "metadata.ownerReferences.0.uid",
    ),
    Case("Pod", {"metadata|annotations|controller.kubernetes.io/pod-deletion-cost": "a"}),
]
CONTAINERS = [
    Case("Pod", {"spec.containers": []}),
    Case("Pod", {f"{_C}.name": "Trainer"}),
    Case("Pod", {f"{_C}.name": "my_c"}),
    Case("Pod", {f"{_C}.name": DELETE}),
    Case("Pod", {f"{_C}.image": DELETE}),
    Case("Pod", {f"{_C}.image": " a "}),
    Case("Pod", {"spec.containers.1": {"name": "main", "image": "a"}}, "spec.containers.1.name"),
    Case("Pod", {"spec.initContainers.0": {"name": "main", "image": "a"}}, "spec.initContainers.0.name"),
    Case("Pod", {f"{_C}.imagePullPolicy": "IfNotpresent"}),
    Case("Pod", {f"{_C}.imagePullPolicy": ""}, None),
    Case("Pod", {f"{_C}.terminationMessagePolicy": "Logs"}),
    Case("Pod", {f"{_C}.ports": [{"containerPort": 70000}]}, f"{_C}.ports.0.containerPort"),
    Case("Pod", {f"{_C}.ports": [{"name": "a"}]}, f"{_C}.ports.0.containerPort"),
    Case("Pod", {f"{_C}.ports": [{"containerPort": 80, "name": "a-name-over-15-characters"}]}, f"{_C}.ports.0.name"),
    Case("Pod", {f"{_C}.ports": [{"containerPort": 80, "name": "8080"}]}, f"{_C}.ports.0.name"),
    Case("Pod", {f"{_C}.ports": [{"containerPort": 80, "name": "a--b"}]}, f"{_C}.ports.0.name"),
    Case("Pod", {f"{_C}.ports": [{"containerPort": 80, "protocol": "HTTP"}]}, f"{_C}.ports.0.protocol"),
    Case(
        "Pod",
        {f"{_C}.ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]},
        f"{_C}.ports.1.name",
    ),
    Case(
        "Pod",
        {f"{_C}.ports": [{"containerPort": 1, "hostPort": 9}, {"containerPort": 2, "hostPort": 9}]},
        f"{_C}.ports.1.hostPort",
    ),
    Case("Pod", {f"{_C}.ports": [{"containerPort": 1, "hostPort": 70000}]}, f"{_C}.ports.0.hostPort"),
    Case(
        "Pod",
        {"spec.hostNetwork": True, f"{_C}.ports": [{"containerPort": 1, "hostPort": 2}]},
        f"{_C}.ports.0.hostPort",
    ),
    Case("Pod", {"spec.hostNetwork": True, f"{_C}.ports": [{"containerPort": 1}]}, None),
    Case(
        "Pod",
        {"spec.initContainers.0": {"name": "i", "image": "a", "livenessProbe": _HTTP}},
        "spec.initContainers.0.livenessProbe",
    ),
    Case(
        "Pod",
        {"spec.initContainers.0": {"name": "i", "image": "a", "lifecycle": {"preStop": {"exec": {"command": ["a"]}}}}},
        "spec.initContainers.0.lifecycle",
    ),
    Case(
        "Pod",
        {"spec.initContainers.0": {"name": "i", "image": "a", "readinessProbe": _HTTP, "restartPolicy": "Always"}},
        None,
    ),
    Case(
        "Pod",
        {"spec.initContainers.0": {"name": "i", "image": "a", "restartPolicy": "Sometimes"}},
        "spec.initContainers.0.restartPolicy",
    ),
    Case("Pod", {f"{_C}.restartPolicy": "Never"}, None),
    Case("Pod", {f"{_C}.restartPolicy": "Sometimes"}),
    Case(
        "Pod",
        {f"{_C}.restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]},
        f"{_C}.restartPolicy",
    ),
    Case(
        "Pod",
        {
            f"{_C}.restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}],
            f"{_C}.restartPolicy": "Never",
        },
        None,
    ),
    Case(
        "Pod",
        {
            f"{_C}.restartPolicyRules": [{"action": "Stop", "exitCodes": {"operator": "In", "values": [1]}}],
            f"{_C}.restartPolicy": "Never",
        },
        f"{_C}.restartPolicyRules.0.action",
    ),
    Case(
        "Pod",
        {
            f"{_C}.restartPolicyRules": [
                {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}
            ],
            f"{_C}.restartPolicy": "Never",
        },
        f"{_C}.restartPolicyRules.0.action",
    ),
    Case(
        "Pod",
        {f"{_C}.resizePolicy": [{"resourceName": "cpu", "restartPolicy": "Restart"}]},
        f"{_C}.resizePolicy.0.restartPolicy",
    ),
    Case(
        "Pod",
        {f"{_C}.resizePolicy": [{"resourceName": "gpu", "restartPolicy": "NotRequired"}]},
        f"{_C}.resizePolicy.0.resourceName",
    ),
    Case(
        "Pod",
        {
            "spec.restartPolicy": "Never",
            f"{_C}.resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}],
        },
        f"{_C}.resizePolicy.0.restartPolicy",
    ),
    Case("Pod", {"spec.ephemeralContainers": [{"name": "debug", "image": "a"}]}, "spec.ephemeralContainers"),
]
ENVIRONMENT = [
    Case("Pod", {f"{_C}.env": [{"value": "a"}]}, f"{_C}.env.0.name"),
    Case("Pod", {f"{_C}.env": [{"name": "A=B"}]}, f"{_C}.env.0.name"),
    Case("Pod", {f"{_C}.env": [{"name": "1 A"}]}, None),
    Case("Pod", {f"{_C}.env": [{"name": "A", "valueFrom": {}}]}, f"{_C}.env.0.valueFrom"),
    Case(
        "Pod",
        {f"{_C}.env": [{"name": "A", "value": "b", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]},
        f"{_C}.env.0.valueFrom",
    ),
    Case(
        "Pod",
        {
            f"{_C}.env": [
                {
                    "name": "A",
                    "valueFrom": {
                        "fieldRef": {"fieldPath": "metadata.name"},
                        "secretKeyRef": {"name": "a", "key": "b"},
                    },
                }
            ]
        },
        f"{_C}.env.0.valueFrom",
    ),
    Case(
        "Pod",
        {f"{_C}.env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}}]},
        f"{_C}.env.0.valueFrom.fieldRef.fieldPath",
    ),
    Case(
        "Pod",
        {f"{_C}.env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.restartPolicy"}}}]},
        f"{_C}.env.0.valueFrom.fieldRef.fieldPath",
    ),
    Case(
        "Pod",
        {f"{_C}.env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['a/B']"}}}]},
        None,
    ),
    Case("Pod", {f"{_C}.env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.host"}}}]}, None),
    Case(
        "Pod",
        {f"{_C}.env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.nvidia.com/gpu"}}}]},
        f"{_C}.env.0.valueFrom.resourceFieldRef.resource",
    ),
    Case(
        "Pod",
        {
            f"{_C}.env": [
                {"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}}
            ]
        },
        None,
    ),
    Case(
        "Pod",
        {f"{_C}.env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "10m"}}}]},
        f"{_C}.env.0.valueFrom.resourceFieldRef.divisor",
    ),
    Case(
        "Pod",
        {f"{_C}.env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "a"}}}]},
        f"{_C}.env.0.valueFrom.secretKeyRef.key",
    ),
    Case(
        "Pod",
        {f"{_C}.env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b/c"}}}]},
        f"{_C}.env.0.valueFrom.configMapKeyRef.key",
    ),
    Case(
        "Pod",
        {f"{_C}.env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "A_b", "key": "c"}}}]},
        f"{_C}.env.0.valueFrom.configMapKeyRef.name",
    ),
    Case("Pod", {f"{_C}.envFrom": [{}]}, f"{_C}.envFrom.0"),
    Case("Pod", {f"{_C}.envFrom": [{"configMapRef": {"name": "a"}, "secretRef": {"name": "a"}}]}, f"{_C}.envFrom.0"),
    Case("Pod", {f"{_C}.envFrom": [{"secretRef": {}}]}, f"{_C}.envFrom.0.secretRef.name"),
]
RESOURCES = [
    Case(
        "Pod", {f"{_C}.resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}}, f"{_C}.resources.requests.cpu"
    ),
    Case("Pod", {_GPU: 1.5}),
    Case("Pod", {_GPU: "1"}, None),
    Case(
        "Pod",
        {_GPU: "1", "spec|containers|0|resources|requests": {"nvidia.com/gpu": 2}},
        "spec|containers|0|resources|requests|nvidia.com/gpu",
    ),
    Case("Pod", {"spec|containers|0|resources|requests": {"nvidia.com/gpu": 1}}, f"{_C}.resources.limits"),
    Case("Pod", {f"{_C}.resources": {"limits": {"gpu": 1}}}, f"{_C}.resources.limits.gpu"),
    Case("Pod", {f"{_C}.resources": {"limits": {"storage": "1Gi"}}}, f"{_C}.resources.limits.storage"),
    Case("Pod", {f"{_C}.resources": {"requests": {"memory": "-1Gi"}}}, f"{_C}.resources.requests.memory"),
    Case("Pod", {f"{_C}.resources": {"limits": {"hugepages-2Mi": "4Mi"}}}, f"{_C}.resources"),
    Case(
        "Pod",
        {f"{_C}.resources": {"limits": {"hugepages-2Mi": "3Mi", "memory": "1Gi"}}},
        f"{_C}.resources.limits.hugepages-2Mi",
    ),
    Case("Pod", {f"{_C}.resources": {"limits": {"hugepages-2Mi": "4Mi", "memory": "1Gi"}}}, None),
    Case(
        "Pod",
        {f"{_C}.resources": {"limits": {"requests.nvidia.com/gpu": 1}}},
        "spec|containers|0|resources|limits|requests.nvidia.com/gpu",
    ),
    Case("Pod", {f"{_C}.resources": {"claims": [{"name": "gpu"}]}}, f"{_C}.resources.claims.0.name"),
    Case(
        "Pod",
        {
            f"{_C}.resources": {"claims": [{"name": "gpu"}]},
            "spec.resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "a"}],
        },
        None,
    ),
    Case("Pod", {"spec.resourceClaims": [{"name": "gpu"}]}, "spec.resourceClaims.0"),
    Case("Pod", {"spec.resourceClaims": [{"name": "G", "resourceClaimName": "a"}]}, "spec.resourceClaims.0.name"),
    Case(
        "Pod",
        {"spec.resources": {"requests": {"cpu": "1"}}, f"{_C}.resources": {"requests": {"cpu": "2"}}},
        "spec.resources.requests.cpu",
    ),
    Case("Pod", {"spec.resources": {"limits": {"nvidia.com/gpu": "1"}}}, "spec|resources|limits|nvidia.com/gpu"),
    Case(
        "Pod",
        {
            "spec.resources": {"limits": {"cpu": "1"}},
            f"{_C}.resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}},
        },
        f"{_C}.resources.limits.cpu",
    ),
    Case("Pod", {"spec.resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}, None),
]
VOLUMES = [
    Case("Pod", {"spec.volumes": [{"name": "Data"}]}, "spec.volumes.0.name"),
    Case("Pod", {"spec.volumes": [{"name": "data"}]}, None),
    Case("Pod", {"spec.volumes": [{"emptyDir": {}}]}, "spec.volumes.0.name"),
    Case("Pod", {"spec.volumes": [_VOLUME, _VOLUME]}, "spec.volumes.1.name"),
    Case("Pod", {"spec.volumes": [{**_VOLUME, "hostPath": {"path": "/a"}}]}, "spec.volumes.0.hostPath"),
    Case("Pod", {"spec.volumes": [{"name": "data", "hostPath": {"path": "/a/../b"}}]}, "spec.volumes.0.hostPath.path"),
    Case(
        "Pod",
        {"spec.volumes": [{"name": "data", "hostPath": {"path": "/a", "type": "Dir"}}]},
        "spec.volumes.0.hostPath.type",
    ),
    Case("Pod", {"spec.volumes": [{"name": "data", "secret": {}}]}, "spec.volumes.0.secret.secretName"),
    Case(
        "Pod",
        {"spec.volumes": [{"name": "data", "secret": {"secretName": "a", "defaultMode": 777}}]},
        "spec.volumes.0.secret.defaultMode",
    ),
    Case("Pod", {"spec.volumes": [{"name": "data", "configMap": {"items": []}}]}, "spec.volumes.0.configMap.name"),
    Case(
        "Pod",
        {"spec.volumes": [{"name": "data", "configMap": {"name": "a", "items": [{"key": "a", "path": "/b"}]}}]},
        "spec.volumes.0.configMap.items.0.path",
    ),
    Case(
        "Pod",
        {"spec.volumes": [{"name": "data", "configMap": {"name": "a", "items": [{"path": "b"}]}}]},
        "spec.volumes.0.configMap.items.0.key",
    ),
    Case(
        "Pod",
        {"spec.volumes": [{"name": "data", "persistentVolumeClaim": {}}]},
        "spec.volumes.0.persistentVolumeClaim.claimName",
    ),
    Case(
        "Pod",
        {"spec.volumes": [{"name": "data", "emptyDir": {"sizeLimit": "-1Gi"}}]},
        "spec.volumes.0.emptyDir.sizeLimit",
    ),
    Case("Pod", {"spec.volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}]}, None),
    Case("Pod", {"spec.volumes": [{"name": "data", "nfs": {"server": "a", "path": "b"}}]}, "spec.volumes.0.nfs.path"),
    Case("Pod", {"spec.volumes": [{"name": "data", "csi": {"driver": "A_b"}}]}, "spec.volumes.0.csi.driver"),
    Case(
        "Pod", {"spec.volumes": [{"name": "data", "image": {"pullPolicy": "Always"}}]}, "spec.volumes.0.image.reference"
    ),
    Case(
        "Pod",
        {"spec.volumes": [{"name": "data", "downwardAPI": {"items": [{"path": "a"}]}}]},
        "spec.volumes.0.downwardAPI.items.0",
    ),
    Case(
        "Pod",
        {
            "spec.volumes": [
                {
                    "name": "data",
                    "downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.labels"}}]},
                }
            ]
        },
        None,
    ),
    Case(
        "Pod",
        {
            "spec.volumes": [
                {"name": "data", "downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "spec.nodeName"}}]}}
            ]
        },
        "spec.volumes.0.downwardAPI.items.0.fieldRef.fieldPath",
    ),
    Case(
        "Pod",
        {
            "spec.volumes": [
                {
                    "name": "data",
                    "projected": {"sources": [{"serviceAccountToken": {"path": "a", "expirationSeconds": 60}}]},
                }
            ],
            "spec.serviceAccountName": "a",
        },
        "spec.volumes.0.projected.sources.0.serviceAccountToken.expirationSeconds",
    ),
    Case(
        "Pod",
        {
            "spec.volumes": [
                {"name": "data", "projected": {"sources": [{"secret": {"name": "a"}, "configMap": {"name": "a"}}]}}
            ]
        },
        "spec.volumes.0.projected.sources.0",
    ),
    Case(
        "Pod",
        {
            "spec.volumes": [
                {
                    "name": "data",
                    "projected": {
                        "sources": [
                            {"secret": {"name": "a", "items": [{"key": "a", "path": "p"}]}},
                            {"configMap": {"name": "a", "items": [{"key": "a", "path": "p"}]}},
                        ]
                    },
                }
            ]
        },
        "spec.volumes.0.projected.sources.1.configMap.items.0.path",
    ),
    Case("Pod", {"spec.volumes": [{"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": _CLAIM}}}]}, None),
    Case(
        "Pod",
        {
            "spec.volumes": [
                {"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}}
            ]
        },
        "spec.volumes.0.ephemeral.volumeClaimTemplate.spec.resources.requests.storage",
    ),
    Case(
        "Pod",
        {
            "spec.volumes": [
                {"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": {**_CLAIM, "accessModes": ["RWO"]}}}}
            ]
        },
        "spec.volumes.0.ephemeral.volumeClaimTemplate.spec.accessModes.0",
    ),
    Case("Pod", {f"{_C}.volumeMounts": [_MOUNT]}, f"{_C}.volumeMounts.0.name"),
    Case(
        "Pod",
        {f"{_C}.volumeMounts": [_MOUNT, {**_MOUNT, "subPath": "a"}], "spec.volumes": [_VOLUME]},
        f"{_C}.volumeMounts.1.mountPath",
    ),
    Case(
        "Pod", {f"{_C}.volumeMounts": [{"name": "data"}], "spec.volumes": [_VOLUME]}, f"{_C}.volumeMounts.0.mountPath"
    ),
    Case(
        "Pod",
        {f"{_C}.volumeMounts": [{**_MOUNT, "subPath": "../a"}], "spec.volumes": [_VOLUME]},
        f"{_C}.volumeMounts.0.subPath",
    ),
    Case(
        "Pod",
        {f"{_C}.volumeMounts": [{**_MOUNT, "subPath": "a", "subPathExpr": "b"}], "spec.volumes": [_VOLUME]},
        f"{_C}.volumeMounts.0.subPathExpr",
    ),
    Case(
        "Pod",
        {f"{_C}.volumeMounts": [{**_MOUNT, "mountPropagation": "Bidirectional"}], "spec.volumes": [_VOLUME]},
        f"{_C}.volumeMounts.0.mountPropagation",
    ),
    Case(
        "Pod",
        {f"{_C}.volumeMounts": [{**_MOUNT, "recursiveReadOnly": "Enabled"}], "spec.volumes": [_VOLUME]},
        f"{_C}.volumeMounts.0.recursiveReadOnly",
    ),
    Case(
        "Pod",
        {f"{_C}.volumeDevices": [{"name": "data", "devicePath": "/a"}], "spec.volumes": [_VOLUME]},
        f"{_C}.volumeDevices.0.name",
    ),
    Case(
        "Pod",
        {
            f"{_C}.volumeDevices": [{"name": "data", "devicePath": "/a"}],
            "spec.volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "a"}}],
        },
        None,
    ),
]
PROBES = [
    Case("Pod", {f"{_C}.livenessProbe": {"periodSeconds": 5}}),
    Case("Pod", {f"{_C}.livenessProbe": _HTTP}, None),
    Case("Pod", {f"{_C}.livenessProbe": {**_HTTP, "exec": {"command": ["a"]}}}, f"{_C}.livenessProbe.httpGet"),
    Case("Pod", {f"{_C}.livenessProbe": {**_HTTP, "successThreshold": 2}}, f"{_C}.livenessProbe.successThreshold"),
    Case("Pod", {f"{_C}.livenessProbe": {**_HTTP, "timeoutSeconds": -1}}, f"{_C}.livenessProbe.timeoutSeconds"),
    Case("Pod", {f"{_C}.livenessProbe": {"httpGet": {"path": "/a"}}}, f"{_C}.livenessProbe.httpGet.port"),
    Case("Pod", {f"{_C}.livenessProbe": {"httpGet": {"port": "a_b"}}}, f"{_C}.livenessProbe.httpGet.port"),
    Case(
        "Pod",
        {f"{_C}.livenessProbe": {"httpGet": {"port": 80, "scheme": "http"}}},
        f"{_C}.livenessProbe.httpGet.scheme",
    ),
    Case("Pod", {f"{_C}.livenessProbe": {"exec": {}}}, f"{_C}.livenessProbe.exec.command"),
    Case("Pod", {f"{_C}.livenessProbe": {"tcpSocket": {"port": 0}}}, f"{_C}.livenessProbe.tcpSocket.port"),
    Case("Pod", {f"{_C}.livenessProbe": {"grpc": {"port": 70000}}}, f"{_C}.livenessProbe.grpc.port"),
    Case(
        "Pod",
        {f"{_C}.readinessProbe": {**_HTTP, "terminationGracePeriodSeconds": 5}},
        f"{_C}.readinessProbe.terminationGracePeriodSeconds",
    ),
    Case(
        "Pod",
        {f"{_C}.startupProbe": {**_HTTP, "terminationGracePeriodSeconds": 0}},
        f"{_C}.startupProbe.terminationGracePeriodSeconds",
    ),
    Case("Pod", {f"{_C}.lifecycle": {"preStop": {}}}, f"{_C}.lifecycle.preStop"),
    Case("Pod", {f"{_C}.lifecycle": {"preStop": {"sleep": {"seconds": 60}}}}, f"{_C}.lifecycle.preStop.sleep.seconds"),
    Case("Pod", {f"{_C}.lifecycle": {"preStop": {"sleep": {"seconds": 10}}}}, None),
]
SCHEDULING = [
    Case("Pod", {"spec.tolerations": [{"operator": "Equal", "value": "a"}]}, "spec.tolerations.0.operator"),
    Case("Pod", {"spec.tolerations": [{"operator": "Exists"}]}, None),
    Case("Pod", {"spec.tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}, "spec.tolerations.0.value"),
    Case("Pod", {"spec.tolerations": [{"key": "a", "operator": "In", "value": "b"}]}, "spec.tolerations.0.operator"),
    Case("Pod", {"spec.tolerations": [{"key": "a", "operator": "Gt", "value": "1"}]}, "spec.tolerations.0.operator"),
    Case("Pod", {"spec.tolerations": [{"key": "a", "effect": "NoSchedul"}]}, "spec.tolerations.0.effect"),
    Case(
        "Pod",
        {"spec.tolerations": [{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 5}]},
        "spec.tolerations.0.effect",
    ),
    Case("Pod", {"spec.tolerations": [{"key": "a b"}]}, "spec.tolerations.0.key"),
    Case("Pod", {"spec.tolerations": [{"key": "a", "value": "b c"}]}, "spec.tolerations.0.value"),
    Case("Pod", {"spec.nodeSelector": {"a b": "c"}}, "spec|nodeSelector|a b"),
    Case("Pod", {"spec.nodeSelector": {"a": "b c"}}, "spec.nodeSelector.a"),
    Case("Pod", {_AFFINITY: []}),
    Case(
        "Pod",
        {_AFFINITY: [{"matchExpressions": [{"key": "a", "operator": "In"}]}]},
        f"{_AFFINITY}.0.matchExpressions.0.values",
    ),
    Case(
        "Pod",
        {_AFFINITY: [{"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}]},
        f"{_AFFINITY}.0.matchExpressions.0.values",
    ),
    Case(
        "Pod",
        {_AFFINITY: [{"matchExpressions": [{"key": "a", "operator": "Equals", "values": ["b"]}]}]},
        f"{_AFFINITY}.0.matchExpressions.0.operator",
    ),
    Case(
        "Pod",
        {_AFFINITY: [{"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1", "2"]}]}]},
        f"{_AFFINITY}.0.matchExpressions.0.values",
    ),
    Case("Pod", {_AFFINITY: [{"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["b"]}]}]}, None),
    Case(
        "Pod",
        {_AFFINITY: [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}]},
        f"{_AFFINITY}.0.matchExpressions.0.values.0",
    ),
    Case("Pod", {_AFFINITY: [{"matchExpressions": [{"operator": "Exists"}]}]}, f"{_AFFINITY}.0.matchExpressions.0.key"),
    Case(
        "Pod",
        {_AFFINITY: [{"matchFields": [{"key": "metadata.namespace", "operator": "In", "values": ["a"]}]}]},
        f"{_AFFINITY}.0.matchFields.0.key",
    ),
    Case(
        "Pod",
        {
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 200, "preference": {}}
            ]
        },
        "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution.0.weight",
    ),
    Case("Pod", {_ANTI: {"labelSelector": _LABEL}}, f"{_ANTI}.topologyKey"),
    Case("Pod", {_ANTI: {"labelSelector": _LABEL, "topologyKey": "a b"}}, f"{_ANTI}.topologyKey"),
    Case(
        "Pod",
        {_ANTI: {"labelSelector": {"matchLabels": {"a": "b c"}}, "topologyKey": "a"}},
        f"{_ANTI}.labelSelector.matchLabels.a",
    ),
    Case(
        "Pod",
        {
            _ANTI: {
                "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
                "topologyKey": "a",
            }
        },
        f"{_ANTI}.labelSelector.matchExpressions.0.operator",
    ),
    Case("Pod", {_ANTI: {"topologyKey": "a", "matchLabelKeys": ["b"]}}, f"{_ANTI}.matchLabelKeys"),
    Case("Pod", {_ANTI: {"topologyKey": "a", "labelSelector": _LABEL, "namespaces": ["A"]}}, f"{_ANTI}.namespaces.0"),
    Case("Pod", {"spec.topologySpreadConstraints": [_SPREAD]}, None),
    Case(
        "Pod",
        {"spec.topologySpreadConstraints": [{**_SPREAD, "maxSkew": 0}]},
        "spec.topologySpreadConstraints.0.maxSkew",
    ),
    Case(
        "Pod",
        {"spec.topologySpreadConstraints": [{**_SPREAD, "whenUnsatisfiable": "Ignore"}]},
        "spec.topologySpreadConstraints.0.whenUnsatisfiable",
    ),
    Case(
        "Pod",
        {"spec.topologySpreadConstraints": [{**_SPREAD, "topologyKey": ""}]},
        "spec.topologySpreadConstraints.0.topologyKey",
    ),
    Case(
        "Pod",
        {"spec.topologySpreadConstraints": [_SPREAD, {**_SPREAD, "maxSkew": 2}]},
        "spec.topologySpreadConstraints.1",
    ),
    Case(
        "Pod",
        {"spec.topologySpreadConstraints": [{**_SPREAD, "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 2}]},
        "spec.topologySpreadConstraints.0.minDomains",
    ),
    Case(
        "Pod",
        {"spec.topologySpreadConstraints": [{**_SPREAD, "matchLabelKeys": ["app"]}], "metadata.labels": {"app": "a"}},
        "spec.topologySpreadConstraints.0.matchLabelKeys.0",
    ),
    Case("Pod", {"spec.topologySpreadConstraints": [{**_SPREAD, "matchLabelKeys": ["app"]}]}, None),
    Case(
        "Pod",
        {"spec.topologySpreadConstraints": [{**_SPREAD, "matchLabelKeys": ["x y"]}]},
        "spec.topologySpreadConstraints.0.matchLabelKeys.0",
    ),
    Case(
        "Pod", {_ANTI: {"topologyKey": "a", "labelSelector": {}, "matchLabelKeys": [""]}}, f"{_ANTI}.matchLabelKeys.0"
    ),
    Case("Pod", {"spec.schedulingGates": [{"name": "a b"}]}, "spec.schedulingGates.0.name"),
    Case("Pod", {"spec.schedulingGates": [{"name": "a.b/c"}], "spec.nodeName": "n"}, "spec.nodeName"),
    Case("Pod", {"spec.readinessGates": [{"conditionType": "a b"}]}, "spec.readinessGates.0.conditionType"),
]
SECURITY = [
    Case("Pod", {f"{_C}.securityContext": {"runAsUser": -1}}, f"{_C}.securityContext.runAsUser"),
    Case(
        "Pod",
        {f"{_C}.securityContext": {"privileged": True, "allowPrivilegeEscalation": False}},
        f"{_C}.securityContext.allowPrivilegeEscalation",
    ),
    Case(
        "Pod",
        {f"{_C}.securityContext": {"capabilities": {"add": ["CAP_SYS_ADMIN"]}, "allowPrivilegeEscalation": False}},
        f"{_C}.securityContext.capabilities.add.0",
    ),
    Case(
        "Pod",
        {f"{_C}.securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}, "allowPrivilegeEscalation": False}},
        None,
    ),
    Case("Pod", {f"{_C}.securityContext": {"procMount": "Unmasked"}}, f"{_C}.securityContext.procMount"),
    Case(
        "Pod",
        {f"{_C}.securityContext": {"seccompProfile": {"type": "Default"}}},
        f"{_C}.securityContext.seccompProfile.type",
    ),
    Case(
        "Pod",
        {f"{_C}.securityContext": {"seccompProfile": {"type": "Localhost"}}},
        f"{_C}.securityContext.seccompProfile.localhostProfile",
    ),
    Case(
        "Pod",
        {"spec.securityContext": {"seccompProfile": {"type": "RuntimeDefault", "localhostProfile": "a"}}},
        "spec.securityContext.seccompProfile.localhostProfile",
    ),
    Case("Pod", {"spec.securityContext": {"appArmorProfile": {}}}, "spec.securityContext.appArmorProfile.type"),
    Case("Pod", {"spec.securityContext": {"runAsUser": 2**31}}, "spec.securityContext.runAsUser"),
    Case("Pod", {"spec.securityContext": {"supplementalGroups": [-1]}}, "spec.securityContext.supplementalGroups.0"),
    Case("Pod", {"spec.securityContext": {"fsGroupChangePolicy": "Never"}}, "spec.securityContext.fsGroupChangePolicy"),
    Case(
        "Pod",
        {"spec.securityContext": {"supplementalGroupsPolicy": "Never"}},
        "spec.securityContext.supplementalGroupsPolicy",
    ),
    Case(
        "Pod",
        {"spec.securityContext": {"sysctls": [{"name": "Net", "value": "1"}]}},
        "spec.securityContext.sysctls.0.name",
    ),
    Case(
        "Pod",
        {"spec.securityContext": {"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]}, "spec.hostNetwork": True},
        "spec.securityContext.sysctls.0.name",
    ),
    Case(
        "Pod",
        {"spec.securityContext": {"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]}, "spec.hostIPC": True},
        "spec.securityContext.sysctls.0.name",
    ),
    Case("Pod", {"spec.securityContext": {"privileged": True}}, "spec.securityContext.privileged"),
    Case("Pod", {"spec.shareProcessNamespace": True, "spec.hostPID": True}),
    Case("Pod", {"spec.hostPID": True, "spec.hostUsers": False}),
    Case("Pod", {"spec.hostNetwork": True, "spec.hostUsers": False}),
    Case("Pod", {"spec.hostUsers": False}, None),
]
POD_FIELDS = [
    Case("Pod", {"spec.restartPolicy": "never"}),
    Case("Pod", {"spec.dnsPolicy": "Cluster"}),
    Case("Pod", {"spec.dnsPolicy": "None"}, "spec.dnsConfig.nameservers"),
    Case("Pod", {"spec.dnsConfig": {"nameservers": ["dns"]}}, "spec.dnsConfig.nameservers.0"),
    Case(
        "Pod",
        {"spec.dnsConfig": {"nameservers": ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"]}},
        "spec.dnsConfig.nameservers",
    ),
    Case("Pod", {"spec.dnsConfig": {"searches": ["a_b.c.", "."]}}, None),
    Case("Pod", {"spec.dnsConfig": {"searches": ["a b"]}}, "spec.dnsConfig.searches.0"),
    Case("Pod", {"spec.hostname": "A"}),
    Case("Pod", {"spec.hostname": "a.b"}),
    Case("Pod", {"spec.subdomain": "a_b"}),
    Case("Pod", {"spec.hostnameOverride": "a", "spec.hostNetwork": True}),
    Case("Pod", {"spec.hostAliases": [{"ip": "a", "hostnames": ["b"]}]}, "spec.hostAliases.0.ip"),
    Case("Pod", {"spec.hostAliases": [{"ip": "1.2.3.4", "hostnames": ["B"]}]}, "spec.hostAliases.0.hostnames.0"),
    Case("Pod", {"spec.activeDeadlineSeconds": 0}),
    Case("Pod", {"spec.activeDeadlineSeconds": 2**31}),
    Case("Pod", {"spec.serviceAccountName": "A"}),
    Case("Pod", {"spec.runtimeClassName": "A"}),
    Case("Pod", {"spec.priorityClassName": "A"}),
    Case("Pod", {"spec.preemptionPolicy": "Always"}),
    Case("Pod", {"spec.os": {"name": "Linux"}}, "spec.os.name"),
    Case("Pod", {"spec.imagePullSecrets": [{"name": "a"}, {"name": "a"}]}, None),
    Case("Pod", {"spec.schedulerName": "My Scheduler"}, None),
    Case(
        "Pod",
        {"spec.enableServiceLinks": False, "spec.automountServiceAccountToken": False, "spec.setHostnameAsFQDN": True},
        None,
    ),
]
UNCHECKED = [
    Case("Pod", {"spec.overhead": {"cpu": "1"}}),
    Case("Pod", {"spec.os": {"name": "windows"}}, "spec.os.name"),
    Case("Pod", {"spec.volumes": [{"name": "data", "rbd": {"image": "a", "monitors": ["b"]}}]}, "spec.volumes.0.rbd"),
    Case(
        "Pod",
        {"spec.securityContext": {"windowsOptions": {"hostProcess": True}}},
        "spec.securityContext.windowsOptions",
    ),
    Case("Pod", {f"{_C}.lifecycle": {"stopSignal": "SIGTERM"}}, f"{_C}.lifecycle.stopSignal"),
    Case(
        "Pod",
        {f"{_C}.env": [{"name": "A", "valueFrom": {"fileKeyRef": {"key": "a", "path": "b", "volumeName": "c"}}}]},
        f"{_C}.env.0.valueFrom.fileKeyRef",
    ),
    Case("Pod", {"metadata|annotations|container.apparmor.security.beta.kubernetes.io/main": "unconfined"}),
]
"""Fields that gpuc does not check; the outcome is unknown."""
POD_CASES = [
    *STRUCTURE, *METADATA, *CONTAINERS, *ENVIRONMENT, *RESOURCES, *VOLUMES, *PROBES, *SCHEDULING, *SECURITY, *POD_FIELDS
]  # fmt: skip
