"""Finds workloads that other objects of the input refuse: policies, Pod Security, LimitRanges and ResourceQuotas.

Source: the decisions of gpuc.admission
"""

from itertools import chain

from gpuc.diagnostics.contract import PODS
from gpuc.lint.checks import KUEUE_CONFIGURATION, NAMESPACE_LIMITS, POD_NEEDS, POLICIES, Findings, check, rule_of
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from gpuc.trace.admission_steps import object_steps, pod_steps
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.steps import Stage
from gpuc.trace.workload import workload_of

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
    """Yields a finding for every workload that another object of the input refuses."""
    if not objects.namespaces:
        return
    cluster = objects.once(ClusterIndex)
    for manifest in objects.manifests:
        workload = workload_of(manifest, objects=objects) if manifest.namespace in objects.namespaces else None
        if workload is None:
            continue
        of_pods = (pod_steps(cluster, workload, pods, (), validates=False) for pods in workload.pod_sets)
        for step in chain(object_steps(cluster, workload, validates=False), *of_pods):
            if step.failed and step.stage in _STAGES and step.manifest is not None:
                yield ObjectFinding(REFUSED, manifest, step.field or ("spec",), f"{step.manifest}: {step.message}")
                break
