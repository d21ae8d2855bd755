from __future__ import annotations

from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig
from gpuc.objects.selectors import node_terms, tolerations
from gpuc.verify import Findings, check
from gpuc.verify.pod_nodes import needed_nodes, refusal
from gpuc.verify.subject import Subject


@check("VAL006", source="https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/")
def no_node(subject: Subject) -> Findings:
    """With the Helm values of a component, nodes that need its pods do not take them.

    The pods of a controller stay Pending, or a DaemonSet does not run on the nodes that need it.
    """
    pods = [(values, *item) for values in subject.values for item in values.pods.items()]
    for values, path, runs_on in pods if subject.index.nodes.pools else ():
        pod = dig(values.body, *path)
        for group in needed_nodes(subject.index, runs_on):
            if reason := refusal([group], node_terms(pod), tolerations(dig(pod, "tolerations"))):
                at = (*path, reason.field(pod))
                yield ObjectFinding(no_node.rule, values.manifest, at, reason.message, reason.fix)
