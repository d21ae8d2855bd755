"""Finds workloads that other objects of the input refuse: policies, Pod Security, LimitRanges and ResourceQuotas.

Source: the decisions of gpuc.admission
"""

from itertools import chain

from gpuc.diagnostics.contract import PODS
from gpuc.lint.checks import KUEUE_CONFIGURATION, NAMESPACE_LIMITS, POD_NEEDS, POLICIES, Findings, check, rule_of
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from gpuc.objects.pods import pods_of
from gpuc.trace.admission_steps import object_steps, pod_steps
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.steps import Stage
from gpuc.trace.workload import PodSet, Workload, workload_of

REFUSED = rule_of("SCD010")
_STAGES = (Stage.POLICY, Stage.POD_POLICY, Stage.POD_SECURITY, Stage.NAMESPACE)
"""The stages in which an object of the set decides. Other checks report what the API server itself refuses."""


@check(
    REFUSED,
    kinds=(
        "kueue.x-k8s.io/*", *POLICIES, *NAMESPACE_LIMITS, PODS, *POD_NEEDS, *KUEUE_CONFIGURATION,
        "trainer.kubeflow.org/*",
    ),
)  # fmt: skip
def findings(objects: ObjectSet) -> Findings:
    """Yields a finding for every workload, and for the pods of every runtime, that an object of the input refuses."""
    if not objects.namespaces:
        return
    cluster = objects.once(ClusterIndex)
    for manifest in (row for row in objects.manifests if row.namespace in objects.namespaces):
        workload = workload_of(manifest, objects=objects)
        stages: tuple[Stage, ...] = _STAGES
        of_object = object_steps(cluster, workload, validates=False) if workload else ()
        if workload is None:
            described = tuple(PodSet(pods.spec, path=pods.path) for pods in pods_of(manifest) if pods.record.is_runtime)
            stages, workload = (Stage.POD_SECURITY,), Workload(described, manifest.namespace, "", name=manifest.name)
        of_pods = (pod_steps(cluster, workload, pods, (), validates=False) for pods in workload.pod_sets)
        for step in chain(of_object, *of_pods):
            if step.failed and step.stage in stages and step.manifest is not None:
                yield ObjectFinding(REFUSED, manifest, step.field or ("spec",), f"{step.manifest}: {step.message}")
                break
