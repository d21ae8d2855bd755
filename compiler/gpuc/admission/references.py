"""Checks the objects whose names a Pod contains, and the fields of a Pod that prevent its scheduling.

Source: k8s.io/kubernetes v1.35.4 plugin/pkg/admission: serviceaccount, priority and runtimeclass;
pkg/controller/volume/persistentvolume/pv_controller.go, pkg/volume/util/storageclass.go;
pkg/api/v1/pod/util.go (VisitPodSecretNames, VisitPodConfigmapNames)
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from gpuc.admission.documents import PodPart, is_pod, namespace_of, pod_part
from gpuc.admission.mutating import BUILT_IN_PRIORITIES
from gpuc.admission.request import Decision, Request
from gpuc.admission.validation.table import CONTROLLER
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.api_groups import STORAGE
from gpuc.manifest.manifest import Body, Manifest
from gpuc.objects.object_set import ObjectSet, dig, items, pairs
from gpuc.objects.operator_values import policy_values
from gpuc.objects.pod_resources import quantities
from gpuc.objects.pods import pods as all_pods
from gpuc.objects.symbol_table import SymbolTable, kind_of

_SERVICE_ACCOUNT = kind_of("ServiceAccount")
_PRIORITY_CLASS = kind_of("scheduling.k8s.io/PriorityClass")
_RUNTIME_CLASS = kind_of("node.k8s.io/RuntimeClass")
_SCHEDULER: Final = "default-scheduler"
_KUEUE_GATES = ("kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology")
"""Scheduling gates that Kueue removes when it admits the pod."""
_MOUNTABLE_SECRETS = "kubernetes.io/enforce-mountable-secrets"


def reference_decisions(objects: ObjectSet, request: Request) -> Iterator[Decision]:
    """Yields the decisions about the objects that a Pod names, and about its scheduling; nothing for other kinds.

    A missing ServiceAccount, PriorityClass or RuntimeClass denies the Pod. If the object set is only a part of a
    cluster, the missing object may exist, and the decision is "unknown".

    Args:
        request: must be a result of `mutated`.
    """
    pod = pod_part(request.document)
    if pod is None or not is_pod(request.document):
        return
    namespace = namespace_of(request.document)
    yield from _service_account(objects, namespace, pod)
    yield from _priority(objects, pod)
    yield from _runtime_class(objects, pod)
    yield from _named_objects(objects, namespace, pod)
    yield from _claims(objects, namespace, pod, request.claims)
    yield from _scheduling(pod)


def _service_account(objects: ObjectSet, namespace: str, pod: PodPart) -> Iterator[Decision]:
    """Yields the decision about the ServiceAccount. The controller manager creates "default" in every namespace."""
    name = str(dig(pod.spec, "serviceAccountName") or "default")
    if not objects.once(SymbolTable).has(_SERVICE_ACCOUNT, name, namespace):
        fix = f"create ServiceAccount {name}, or remove serviceAccountName"
        yield _missing(objects, "ServiceAccount", name, "serviceAccountName", fix, f"{namespace}/")
    account = objects.find("", "ServiceAccount", name, namespace)
    if account is not None and str(account.annotations.get(_MOUNTABLE_SECRETS)).lower() in ("true", "t", "1"):
        message = f"{account} limits the Secrets of its pods with the annotation {_MOUNTABLE_SECRETS}"
        yield Decision("unknown", str(account), message, account, ("metadata", "annotations", _MOUNTABLE_SECRETS))


def _priority(objects: ObjectSet, pod: PodPart) -> Iterator[Decision]:
    name = dig(pod.spec, "priorityClassName")
    if not name:
        value = 0
    elif objects.once(SymbolTable).has(_PRIORITY_CLASS, str(name), ""):
        manifest = objects.find(*_PRIORITY_CLASS, str(name))
        value = BUILT_IN_PRIORITIES.get(str(name), 0) if manifest is None else manifest.body.get("value", 0)
        yield from _preemption(pod, name, manifest)
    else:
        fix = "remove priorityClassName, or name an existing PriorityClass"
        yield _missing(objects, "PriorityClass", name, "priorityClassName", fix)
        return
    if (declared := dig(pod.spec, "priority")) not in (None, value):
        cause = f"PriorityClass {name} has the value {value}" if name else "the pod has no PriorityClass"
        message = f"spec.priority is {declared}, but {cause}"
        yield Decision("denied", "Priority", message, field=("spec", "priority"), fix="remove spec.priority")


def _preemption(pod: PodPart, name: Any, manifest: Manifest | None) -> Iterator[Decision]:
    policy = (manifest.body.get("preemptionPolicy") if manifest is not None else None) or "PreemptLowerPriority"
    if (declared := dig(pod.spec, "preemptionPolicy")) not in (None, policy):
        message = f"spec.preemptionPolicy is {declared}, but PriorityClass {name} has {policy}"
        field: Path = ("spec", "preemptionPolicy")
        yield Decision("denied", "Priority", message, manifest, field=field, fix="remove spec.preemptionPolicy")


def _operator_classes(objects: ObjectSet) -> set[str]:
    """Returns the names of the RuntimeClasses that the GPU operator creates for its ClusterPolicy.

    Source: NVIDIA/gpu-operator v26.7.0 assets/pre-requisites; controllers/object_controls.go (RuntimeClasses);
    controllers/state_manager.go (isStateEnabled)
    """
    specs = [dig(manifest.body, "spec") for manifest in objects.of("nvidia.com", "ClusterPolicy")]
    specs += [values] if (values := policy_values(objects)) is not None else []
    names: set[str] = set()
    for spec in specs:
        cdi = dig(spec, "cdi")
        if dig(cdi, "nriPluginEnabled") is True:
            continue
        names.add(str(dig(spec, "operator", "runtimeClass") or "nvidia"))
        names |= set() if dig(cdi, "enabled") is False else {"nvidia-cdi", "nvidia-legacy"}
    return names


def _runtime_class(objects: ObjectSet, pod: PodPart) -> Iterator[Decision]:
    name = dig(pod.spec, "runtimeClassName")
    manifest = objects.find(*_RUNTIME_CLASS, str(name)) if name else None
    if name and manifest is None and str(name) not in _operator_classes(objects):
        fix = "remove runtimeClassName, or name an existing RuntimeClass"
        yield _missing(objects, "RuntimeClass", name, "runtimeClassName", fix)
        return
    body = manifest.body if manifest is not None else {}
    expected = quantities(dig(body, "overhead", "podFixed"))
    declared = dig(pod.spec, "overhead")
    if declared is not None and quantities(declared) != expected:
        message = "spec.overhead differs from the overhead of the RuntimeClass"
        yield Decision("denied", "RuntimeClass", message, manifest, field=("spec", "overhead"), fix="remove overhead")
    selector = dict(pairs(dig(pod.spec, "nodeSelector")))
    for key, value in pairs(dig(body, "scheduling", "nodeSelector")):
        if selector.get(key, value) != value:
            message = f"nodeSelector {key} is {selector[key]}, but {manifest} selects {value}"
            path: Path = ("scheduling", "nodeSelector", key)
            yield Decision("denied", "RuntimeClass", message, manifest, path, ("spec", "nodeSelector", key))


def _named_objects(objects: ObjectSet, namespace: str, pod: PodPart) -> Iterator[Decision]:
    """Yields a decision for every ConfigMap and Secret that the input does not have.

    Tenants create ConfigMaps and Secrets themselves, so the decision is "assumed" and not "unknown". The kubelet starts
    no container before the objects exist. A missing image pull secret does not prevent the start.
    """
    if not objects.is_complete:
        return
    reported: set[tuple[str, str]] = set()
    for kind, name, field in named_objects(pod):
        if (kind, name) in reported or objects.once(SymbolTable).has(kind_of(kind), name, namespace):
            continue
        reported.add((kind, name))
        missing = f"{kind} {namespace}/{name} is not in the input"
        if "imagePullSecrets" in field:
            message = f"{missing}; the kubelet pulls the images without it"
            yield Decision("warned", f"{kind} {name}", message, field=field)
        else:
            message = f"{missing}; without the {kind}, the containers do not start"
            yield Decision("assumed", f"{kind} {namespace}/{name}", message, field=field)


def _claims(objects: ObjectSet, namespace: str, pod: PodPart, created: Sequence[Body]) -> Iterator[Decision]:
    """Yields the decisions about the volumes of a pod that a PersistentVolumeClaim provides."""
    new = {dig(claim, "metadata", "name"): claim for claim in created}
    for number, volume in items(dig(pod.spec, "volumes")):
        field: Path = ("spec", "volumes", number)
        if isinstance(name := dig(volume, "persistentVolumeClaim", "claimName"), str):
            existing = objects.find("", "PersistentVolumeClaim", name, namespace)
            if existing is None and name not in new:
                missing = f"PersistentVolumeClaim {namespace}/{name}"
                message = f"{missing} is not in the input; without it, the pod stays Pending"
                where = (*field, "persistentVolumeClaim", "claimName")
                is_declared = (namespace, name) in objects.once(_claims_of_runtimes)
                yield Decision("assumed" if is_declared else "unknown", missing, message, field=where)
            elif existing is not None:
                yield from storage_decisions(objects, str(existing), dig(existing.body, "spec"), field)
        elif dig(volume, "ephemeral") is not None:
            path: Path = ("ephemeral", "volumeClaimTemplate", "spec")
            name = f"the claim of volume {dig(volume, 'name')}"
            yield from storage_decisions(objects, name, dig(volume, *path), (*field, *path, "storageClassName"))
    for claim in created:
        name = f"PersistentVolumeClaim {dig(claim, 'metadata', 'name')}"
        yield from storage_decisions(objects, name, dig(claim, "spec"), ())
    if dig(pod.spec, "resourceClaims"):
        message = "gpuc does not evaluate ResourceClaims, which the scheduler has to allocate"
        yield Decision("unknown", "ResourceClaims", message, field=("spec", "resourceClaims"))


def _claims_of_runtimes(objects: ObjectSet) -> set[tuple[str, str]]:
    """Returns the namespace and the name of the claims that training runtimes declare. Tenants create these claims."""
    runtimes = (pods for pods in all_pods(objects) if pods.record.is_runtime)
    return {
        (pods.manifest.namespace, str(dig(volume, "persistentVolumeClaim", "claimName")))
        for pods in runtimes
        for _, volume in items(dig(pods.spec, "volumes"))
    }


def _scheduling(pod: PodPart) -> Iterator[Decision]:
    if node := dig(pod.spec, "nodeName"):
        message = f"the pod names node {node}: it goes to the kubelet of the node without the scheduler"
        yield Decision("unknown", "nodeName", message, field=("spec", "nodeName"), fix="remove nodeName")
    scheduler = dig(pod.spec, "schedulerName") or _SCHEDULER
    if scheduler != _SCHEDULER:
        message = f"scheduler {scheduler} schedules the pod; gpuc knows only {_SCHEDULER}"
        yield Decision("unknown", "schedulerName", message, field=("spec", "schedulerName"), fix="remove schedulerName")
    for number, gate in items(dig(pod.spec, "schedulingGates")):
        if (name := dig(gate, "name")) not in _KUEUE_GATES:
            message = f"the scheduler ignores the pod until its scheduling gate {name} is removed"
            field: Path = ("spec", "schedulingGates", number)
            yield Decision("denied", f"{CONTROLLER}scheduling gates", message, field=field, fix=f"remove gate {name}")


def _missing(objects: ObjectSet, kind: str, name: str, key: str, fix: str, namespace: str = "") -> Decision:
    check, message, field = f"{kind} {name}", f"{kind} {namespace}{name} does not exist", ("spec", key)
    if objects.is_complete:
        return Decision("denied", check, message, field=field, fix=fix)
    return Decision("unknown", check, f"{message} in the input", field=field)


_STORAGE_CLASS = "StorageClass"
_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_WITHOUT = "without a volume, the pod stays Pending"


def storage_decisions(objects: ObjectSet, name: str, spec: Any, field: Path) -> Iterator[Decision]:
    """Yields a decision "unknown" if the input does not show that a PersistentVolumeClaim gets a volume.

    Clusters have StorageClasses that gpuc does not emit, for example of add-ons. For a claim that names its
    PersistentVolume, the function yields nothing.

    Args:
        name: the claim in messages.
        spec: the spec of the claim, unvalidated.
        field: the path of the claim's StorageClass in the request; empty if the request does not contain it.
    """
    declared = dig(spec, "storageClassName")
    if dig(spec, "volumeName"):
        return
    if declared == "":
        message = f"{name} has no StorageClass: it needs a PersistentVolume, which gpuc does not select; {_WITHOUT}"
    elif declared is None:
        annotations = (manifest.annotations for manifest in objects.of(STORAGE, _STORAGE_CLASS))
        if any(own.get(key) == "true" for own in annotations for key in _DEFAULT):
            return
        message = f"{name} has no storageClassName, and the input has no default StorageClass; {_WITHOUT}"
    elif objects.find(STORAGE, _STORAGE_CLASS, str(declared)) is not None:
        return
    else:
        message = f"StorageClass {declared} of {name} is not in the input; {_WITHOUT}"
    yield Decision("unknown", "StorageClass", message, field=field)


CONFIG_MAP, SECRET = "ConfigMap", "Secret"
_VOLUMES = (
    (CONFIG_MAP, "configMap", "name"),
    (SECRET, "secret", "secretName"),
    (SECRET, "csi.nodePublishSecretRef", "name"),
)
_PROJECTED = (CONFIG_MAP, "configMap", "name"), (SECRET, "secret", "name")
_ENV = (CONFIG_MAP, "configMapKeyRef", "name"), (SECRET, "secretKeyRef", "name")
_ENV_FROM = (CONFIG_MAP, "configMapRef", "name"), (SECRET, "secretRef", "name")


def named_objects(pod: PodPart) -> Iterator[tuple[str, str, Path]]:
    """Yields the kind, the name and the path of every ConfigMap and Secret that a pod names as not optional."""
    for number, volume in items(dig(pod.spec, "volumes")):
        path: Path = (*pod.path, "spec", "volumes", number)
        yield from _sources(volume, path, _VOLUMES)
        for position, source in items(dig(volume, "projected", "sources")):
            yield from _sources(source, (*path, "projected", "sources", position), _PROJECTED)
    for container_path, container in pod.containers():
        for number, variable in items(dig(container, "env")):
            yield from _sources(dig(variable, "valueFrom"), (*container_path, "env", number, "valueFrom"), _ENV)
        for number, source in items(dig(container, "envFrom")):
            yield from _sources(source, (*container_path, "envFrom", number), _ENV_FROM)
    for number, secret in items(dig(pod.spec, "imagePullSecrets")):
        if isinstance(name := dig(secret, "name"), str) and name:
            yield SECRET, name, (*pod.path, "spec", "imagePullSecrets", number, "name")


def _sources(value: Any, path: Path, fields: tuple[tuple[str, str, str], ...]) -> Iterator[tuple[str, str, Path]]:
    for kind, field, key in fields:
        steps = field.split(".")
        source = dig(value, *steps)
        name = dig(source, key)
        if isinstance(name, str) and name and dig(source, "optional") is not True:
            yield kind, name, (*path, *steps, key)
