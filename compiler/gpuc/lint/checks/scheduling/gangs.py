"""Checks gangs, pods that train together: TrainJobs and runtimes, and the pods of all kinds of workloads."""

from gpuc.cluster.index import Index
from gpuc.diagnostics.contract import PODS
from gpuc.kubernetes.amounts import Amounts
from gpuc.kubernetes.node_pool import INSTANCE_TYPE, normal
from gpuc.kubernetes.selector import Selector
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.lint.checks.scheduling.node_ends import own_pools
from gpuc.model.names import EFA, GPU
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, group
from gpuc.objects.pods import Pods, pods_of
from gpuc.parts.workload_kinds import workload_kind
from gpuc.trace.gangs import gang_problems, node_types
from gpuc.trace.workload import workload_of

NOT_AS_WRITTEN = rule_of("TRN202")
NO_TRAINER = rule_of("TRN203")
_OF_PODS = {rule: rule_of(rule) for rule in ("TRN204", "TRN205", "TRN206", "TRN207", "TRN208", "TRN209")}


@check(
    NOT_AS_WRITTEN, NO_TRAINER, *_OF_PODS.values(),
    kinds=(PODS, "trainer.kubeflow.org/*", "karpenter.sh/*", "karpenter.k8s.aws/*", "nfd.k8s-sigs.io/NodeFeatureRule"),
)  # fmt: skip
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about gangs, and about annotations that are on a workload instead of its pods."""
    index = objects.once(Index)
    of_runtimes: set[str] = set()
    for pods in index.pods:
        for rule, problem in gang_problems(pods, pods.manifest, _nodes(pods, index)):
            of_runtimes |= {problem.message} if pods.record.is_runtime else set()
            yield ObjectFinding(_OF_PODS[rule], pods.manifest, problem.field, problem.message, problem.fix)
    for manifest in objects.manifests:
        if (workload := workload_of(manifest, objects=objects)) and workload.made:
            for problem in workload.problems:
                yield ObjectFinding(NOT_AS_WRITTEN, manifest, problem.field, problem.message, problem.fix)
            made = (
                row for pods in pods_of(workload.made) for row in gang_problems(pods, manifest, _nodes(pods, index))
            )
            for rule, problem in made:
                if problem.message not in of_runtimes:
                    field = problem.field or ("spec",)
                    yield ObjectFinding(_OF_PODS[rule], manifest, field, problem.message, problem.fix)
        for problem in workload_kind(group(manifest), manifest.kind).traits.problems(manifest.document()):
            yield ObjectFinding(NO_TRAINER, manifest, problem.field, problem.message)


def _nodes(pods: Pods, index: Index) -> list[Amounts]:
    """Returns the capacity of each node type that pods can get; empty if the input does not show all types.

    The types are those of the node pools that the pods select. Otherwise, pods with EFA interfaces can select types.
    """
    if pools := own_pools(pods, index.nodes):
        is_known = all(pool.is_known for pool in pools)
        return node_types(pods, pools, {name for pool in pools for name in pool.type_names}) if is_known else []
    listed = [_types(term) for term in pods.terms if any(name == EFA for _, name in pods.resources())]
    rows = [index.tree.catalog.instance_type(name) for name in set().union(*listed)] if all(listed) else []
    return [{GPU: row.gpu_count, EFA: row.efa} for row in rows if row] if all(rows) else []


def _types(term: Selector) -> set[str]:
    return {name for wanted in term if normal(wanted.key) == INSTANCE_TYPE for name in wanted.domain.listed or ()}
