from __future__ import annotations

from gpuc.verify import Findings, check
from gpuc.verify.references.reference import TYPED, Reference
from gpuc.verify.subject import Subject


@check("REF004", source="Karpenter v1.14.1, pkg/controllers/nodepool/readiness/controller.go")
def unknown_node_class(subject: Subject) -> Findings:
    """A NodePool or NodeOverlay refers to an object that does not exist.

    The NodePool is not ready and starts no node. A NodeOverlay for a missing NodePool has no effect.
    """
    return subject.unresolved(unknown_node_class.rule)


ROWS = (
    Reference("karpenter.sh/NodePool", "spec.template.spec.nodeClassRef", TYPED),
    Reference(
        "karpenter.sh/NodeOverlay",
        "spec.requirements[].values[]",
        "karpenter.sh/NodePool",
        when=("key", "karpenter.sh/nodepool"),
    ),
)
