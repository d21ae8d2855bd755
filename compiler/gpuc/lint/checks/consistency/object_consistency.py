from collections import Counter
from posixpath import dirname
from typing import Any

from gpuc.admission.pod_security import LEVELS, PREFIX, VERSION
from gpuc.cluster.index import Index
from gpuc.cluster.pool import Pool
from gpuc.cluster.pool_fields import LIMITS, NODES, WEIGHT
from gpuc.cluster.pools import Pools
from gpuc.cluster.queue import Member, from_objects
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.spelling import misspelt, nearest, write
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group, home_namespace, items, pairs
from gpuc.objects.pods import Pods, pods_of
from gpuc.objects.selectors import wanted_labels
from gpuc.trace.user_objects import HPA, KEDA, scaled

SELECTOR_WITHOUT_PODS = rule_of("OBJ001")
NO_VOLUME = rule_of("OBJ002")
SAME_NAME = rule_of("OBJ003")
NOT_COVERED = rule_of("OBJ004")
NO_SUBJECTS = rule_of("OBJ006")
TOO_FEW_NODES = rule_of("OBJ007")
DYNAMIC_FIELD = rule_of("OBJ023")
NO_LEVEL = rule_of("OBJ005")
NO_MODE = rule_of("OBJ008")
TWO_AUTOSCALERS = rule_of("OBJ025")
_JOB_SETS: tuple[Path, ...] = (("spec",), ("spec", "template", "spec"))
"""The specs of a JobSet and of a ClusterTrainingRuntime, whose controller adds volumes for its claims.

Source: kubernetes-sigs/jobset v0.12.0 pkg/controllers/volume_claim_policy.go
"""
_MODES = ("enforce", "audit", "warn")
_KEYS = tuple(f"{PREFIX}{mode}{part}" for mode in _MODES for part in ("", "-version"))
_MANAGED: Path = ("spec", "syncPolicy", "managedNamespaceMetadata", "labels")


@check(
    SELECTOR_WITHOUT_PODS, NO_VOLUME, SAME_NAME, NOT_COVERED, NO_SUBJECTS, TOO_FEW_NODES, DYNAMIC_FIELD, NO_LEVEL,
    NO_MODE,
)  # fmt: skip
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about workloads, node pools, ClusterQueues, role bindings and Pod Security labels."""
    for queue in objects.once(from_objects).by_name.values():
        yield from _covered(queue)
    for pool in objects.once(Pools).pools:
        yield from _numbers_of_nodes(pool)
    for manifest in objects.manifests:
        yield from pod_security(manifest)
        if manifest.kind in ("RoleBinding", "ClusterRoleBinding") and not manifest.body.get("subjects"):
            # An empty list takes the permissions of a binding that the cluster has from the start.
            needs = "all objects" if "subjects" in manifest.body else None
            yield ObjectFinding(NO_SUBJECTS, manifest, ("subjects",), "the binding names no subjects", needs=needs)
        for pods in pods_of(manifest):
            if group(manifest) == "apps":
                yield from _selector(pods)
            yield from _pod(pods)


def _numbers_of_nodes(pool: Pool) -> Findings:
    limit, body = pool.limits.get(NODES, 0), pool.manifest.body
    limited: list[Path] = [(*LIMITS, str(key)) for key, _ in pairs(dig(body, *LIMITS)) if key != NODES]
    wrong = [(path, "limit only nodes") for path in limited]
    wrong += [(WEIGHT, "not have a weight")] if dig(body, *WEIGHT) is not None else []
    for path, rule in wrong if pool.is_static else ():
        message = f"a static node pool (spec.replicas) may {rule}"
        yield ObjectFinding(DYNAMIC_FIELD, pool.manifest, path, message, on_key=True)
    if 0 < limit < (pool.replicas or 0):  # a limit of 0 closes the pool
        message = f"the limit is {limit} nodes, below {pool.replicas} replicas"
        yield ObjectFinding(TOO_FEW_NODES, pool.manifest, (*LIMITS, NODES), message)


def _covered(queue: Member) -> Findings:
    for resources in queue.groups:
        for flavor in resources.flavors:
            if flavor.resources != resources.covered and queue.manifest:
                text = f"the flavor lists {', '.join(flavor.resources)}, but coveredResources is "
                path = (*flavor.path, "resources")
                yield ObjectFinding(NOT_COVERED, queue.manifest, path, text + ", ".join(resources.covered))


def _selector(pods: Pods) -> Findings:
    for _, key, values in wanted_labels(dig(pods.manifest.body, "spec", "selector"), ()):
        actual = pods.labels.get(key)
        if actual not in values:
            path: Path = (*pods.path, "metadata", "labels", *([key] if actual is not None else []))
            state = f'its pods have "{actual}"' if actual is not None else "its pods do not have this label"
            message = f'the selector requires "{key}: {" or ".join(values)}", {state}'
            yield ObjectFinding(SELECTOR_WITHOUT_PODS, pods.manifest, path, message)


def _pod(pods: Pods) -> Findings:
    manifest, pod, path = pods.manifest, pods.spec, (*pods.path, "spec")
    claims = dig(manifest.body, "spec", "volumeClaimTemplates")
    volumes = [str(dig(volume, "name")) for _, volume in items(dig(pod, "volumes"))]
    policies = (dig(manifest.body, *start, "volumeClaimPolicies") for start in _JOB_SETS)
    templates = (dig(policy, "templates") for rows in policies for _, policy in items(rows))
    made = [claim for rows in (claims, *templates) for _, claim in items(rows)]
    known = {*volumes, *(str(dig(claim, "metadata", "name")) for claim in made)}
    names: list[str] = []
    for container_path, container in pods.containers():
        names.append(str(dig(container, "name")))
        for number, mount in items(dig(container, "volumeMounts")):
            name = dig(mount, "name")
            if isinstance(name, str) and name not in known:
                others = f"the volumes of the pod are {', '.join(sorted(known))}" if known else "it has no volumes"
                mount_path = (*container_path, "volumeMounts", number, "name")
                fix = write(misspelt(name, known))
                yield ObjectFinding(NO_VOLUME, manifest, mount_path, f'the pod has no volume "{name}"; {others}', fix)
    for field, used_names in (("containers", names), ("volumes", volumes)):
        for name, count in Counter(used_names).items():
            if count > 1 and name != "None":
                yield ObjectFinding(SAME_NAME, manifest, (*path, field), f'{count} {field} have the name "{name}"')


def pod_security(manifest: Manifest) -> Findings:
    """Yields findings about invalid labels of Pod Security that a Namespace or an Application sets."""
    if manifest.kind == "Namespace":
        yield from _labels(manifest, ("metadata", "labels"), manifest.labels)
    elif manifest.kind == "Application" and group(manifest) == "argoproj.io":
        yield from _labels(manifest, _MANAGED, dig(manifest.body, *_MANAGED))


def _labels(manifest: Manifest, path: Path, labels: Any) -> Findings:
    for key, value in pairs(labels):
        if not isinstance(key, str) or not key.startswith(PREFIX):
            continue
        label_path = (*path, key)
        if key not in _KEYS:
            suggestion = misspelt(key, _KEYS)
            hint = f', did you mean "{suggestion}"' if suggestion else f"; the labels are {', '.join(_KEYS)}"
            message = f'"{key}" is not a label of Pod Security{hint}'
            yield ObjectFinding(NO_MODE, manifest, label_path, message, write(suggestion), on_key=True)
        elif key.endswith("-version"):
            if not VERSION.fullmatch(str(value)):
                message = f'"{value}" is neither latest nor a version such as v1.35'
                yield ObjectFinding(NO_LEVEL, manifest, label_path, message)
        elif value not in LEVELS:
            fix = write(nearest(str(value), LEVELS))
            yield ObjectFinding(NO_LEVEL, manifest, label_path, f'"{value}" is not one of {", ".join(LEVELS)}', fix)


@check(TWO_AUTOSCALERS, kinds=("autoscaling/*", "keda.sh/*", "argoproj.io/*"))
def autoscalers(objects: ObjectSet) -> Findings:
    """Yields a finding for an autoscaler (HPA or ScaledObject) of a workload that another autoscaler already scales."""
    delivered, first = objects.once(Index).delivery.delivered, dict[tuple[object, ...], Manifest]()
    for scaler in (*objects.of(*HPA), *objects.of(*KEDA)):
        folder = dirname(scaler.file)
        place = "" if objects.is_complete else folder if folder in delivered else scaler.file
        other = first.setdefault((place, home_namespace(scaler), *map(str, scaled(scaler))), scaler)
        is_moved = "scaledobject.keda.sh/transfer-hpa-ownership" in scaler.annotations
        if (other.kind, other.name) != (scaler.kind, scaler.name) and not is_moved:
            message = f"{other} scales the same workload; Kubernetes stops both, or KEDA refuses the second"
            yield ObjectFinding(TWO_AUTOSCALERS, scaler, ("spec", "scaleTargetRef"), message)
