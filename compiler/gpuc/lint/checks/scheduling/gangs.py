"""Checks gangs, pods that train together: TrainJobs and runtimes, retries, host names, and misplaced annotations."""

import re
from typing import Any

from gpuc.diagnostics.contract import PODS
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.controllers import JOBSET_TOPOLOGY
from gpuc.kubernetes.kueue import PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY
from gpuc.kubernetes.node_pool import DO_NOT_DISRUPT
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.model.names import EFA
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, count_or, dig, group, items, pairs
from gpuc.objects.pods import Pods
from gpuc.objects.pods import pods as all_pods
from gpuc.parts.workload_kinds import workload_kind
from gpuc.trace.workload import workload_of

NOT_AS_WRITTEN = rule_of("TRN202")
NO_TRAINER = rule_of("TRN203")
FEW_RETRIES = rule_of("TRN204")
LATE_HOST = rule_of("TRN205")
TWO_TOPOLOGIES = rule_of("TRN206")
NOT_AT_PODS = rule_of("TRN207")
_DEFAULT_LIMIT = 6


@check(
    NOT_AS_WRITTEN, NO_TRAINER, FEW_RETRIES, LATE_HOST, TWO_TOPOLOGIES, NOT_AT_PODS,
    kinds=(PODS, "trainer.kubeflow.org/*"),
)  # fmt: skip
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about gangs, and about annotations that are on a workload instead of its pods."""
    for manifest in objects.manifests:
        if (workload := workload_of(manifest, objects=objects)) and workload.made:
            for problem in workload.problems:
                yield ObjectFinding(NOT_AS_WRITTEN, manifest, problem.field, problem.message, problem.fix)
        for problem in workload_kind(group(manifest), manifest.kind).traits.problems(manifest.document()):
            yield ObjectFinding(NO_TRAINER, manifest, problem.field, problem.message)
    for pods in all_pods(objects):
        yield from _annotations(pods)
        yield from _retries(pods)
        for path, container in pods.containers():
            yield from _rendezvous(pods, path, container)


def _retries(pods: Pods) -> Findings:
    """Yields a finding for a gang in a Job whose limit of retries is less than the number of its pods."""
    document, at = pods.manifest.document(), pods.path[:-1]
    job = dig(document, *at)
    has_policy = any(dig(document, *at[:end], "failurePolicy") for end in range(len(at)))
    if has_policy or dig(job, "backoffLimitPerIndex") is not None:
        return
    number, limit = count_or(dig(job, "parallelism"), 1), count_or(dig(job, "backoffLimit"), _DEFAULT_LIMIT)
    if number > 1 and limit < number and any(name == EFA for _, name in pods.resources()):
        message = f"{number} pods of a gang share {limit} retries: one failure of the gang is {number} failed pods"
        fix = "write backoffLimitPerIndex and maxFailedIndexes: 0, or a failurePolicy of a JobSet"
        yield ObjectFinding(FEW_RETRIES, pods.manifest, (*at, "backoffLimit"), message, fix)


def _rendezvous(pods: Pods, path: Path, container: Any) -> Findings:
    """Yields a finding for torchrun with the backend c10d, which waits 60 seconds for its host by default.

    Source: pytorch/pytorch v2.15.0 torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py (read_timeout)
    """
    for field in ("command", "args"):
        text = " ".join(str(word) for _, word in items(dig(container, field)))
        if not re.search(r"rdzv[-_]backend[= ]c10d", text):
            continue
        host = re.search(r"rdzv[-_]endpoint[= ]([^\s:]+)", text)
        is_short = host is not None and ".svc" not in host[1] and not host[1].startswith(("$", "localhost", "127."))
        if is_short or "read_timeout" not in text:
            message = "a pod that starts a minute before its host, or before the DNS record of the host, fails"
            fix = "write --node-rank, --master-addr with the full DNS name, and --rdzv-conf=timeout=SECONDS"
            yield ObjectFinding(LATE_HOST, pods.manifest, (*path, field), message, fix)


def _annotations(pods: Pods) -> Findings:
    """Yields findings about two topology annotations for the same pods, and annotations outside of the pod template."""
    document, own = pods.manifest.document(), dict(pairs(dig(pods.template, "metadata", "annotations")))
    above = [pods.path[:end] for end in range(len(pods.path)) if end == 0 or pods.path[end - 1] in ("template",)]
    for at in above:
        noted = dict(pairs(dig(document, *at, "metadata", "annotations")))
        path = (*at, "metadata", "annotations")
        if JOBSET_TOPOLOGY in noted and {PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY} & own.keys():
            message = "JobSet and Kueue both choose the topology of the pods, and do not know of each other"
            yield ObjectFinding(
                TWO_TOPOLOGIES, pods.manifest, (*path, JOBSET_TOPOLOGY), message, "remove one annotation"
            )
        if pods.path and DO_NOT_DISRUPT in noted and DO_NOT_DISRUPT not in own:
            message = f"Karpenter reads {DO_NOT_DISRUPT} at pods, not at a {pods.manifest.kind}"
            where = (*path, DO_NOT_DISRUPT)
            yield ObjectFinding(NOT_AT_PODS, pods.manifest, where, message, "move it to the pod template")
