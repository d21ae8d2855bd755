"""Startup taints, and the pods that count as their removers."""

import pytest

from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.node_steps import startup_step
from tests.lint.checks.references.trees import ids, tree

POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: sliced}
spec:
  template:
    metadata: {labels: {example.com/pool: sliced}}
    spec: {startupTaints: [{key: example.com/layout, value: pending, effect: NoSchedule}]}
"""
ALL = "[{operator: Exists}]"
OWN = "[{key: example.com/layout, operator: Exists}]"
ELSEWHERE = """affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms: [{matchExpressions: [{key: example.com/pool, operator: NotIn, values: [sliced]}]}]"""
RULE = """
apiVersion: readiness.node.x-k8s.io/v1alpha1
kind: NodeReadinessRule
metadata: {name: layout}
spec: {taint: {key: example.com/layout, effect: NoSchedule}}
"""


def agent(tolerations: str, args: str = "[]", pool: str = "sliced", kind: str = "DaemonSet", more: str = "{}") -> str:
    """Pods with arguments, tolerations and further fields of a container."""
    return f"""
apiVersion: apps/v1
kind: {kind}
metadata: {{name: agent, namespace: default}}
spec:
  template:
    spec:
      nodeSelector: {{example.com/pool: {pool}}}
      tolerations: {tolerations}
      initContainers: [{{name: release, args: {args}}}]
      containers: [{{name: agent, {more[1:-1]}}}]
"""


@pytest.mark.share(4)
@pytest.mark.parametrize(
    ("text", "is_removed"),
    [
        (agent(OWN), True),
        (agent(ALL), False),
        (agent(ALL, "[taint, node, $(NODE), 'example.com/layout:NoSchedule-']"), True),
        (agent(ALL, "[taint, node, $(NODE), 'example.com/layout=pending:NoSchedule-']"), True),
        (agent(ALL, "[taint, node, $(NODE), 'example.com/layout-']"), True),
        (agent(ALL, "['--taint-key=example.com/layout']"), True),
        (agent(ALL, "[sh, -c, 'kubectl taint node a example.com/layout- || true']"), True),
        (agent(ALL, "[taint, node, $(NODE), 'example.com/layout:NoExecute-']"), False),
        (agent(ALL, "[taint, node, $(NODE), 'example.com/layout-done:NoSchedule-']"), False),
        (agent(ALL, "[taint, node, $(NODE), 'my.example.com/layout-']"), False),
        (agent(OWN, pool="other"), False),
        (agent(ALL, "['example.com/layout']", pool="other"), False),
        (agent(ALL, "['example.com/layout']", pool="other", kind="Deployment"), True),
        (agent("[]", "['example.com/layout']"), False),
        (agent("[]", "['example.com/layout']", kind="Deployment"), True),
        (agent(OWN).replace("nodeSelector: {example.com/pool: sliced}", ELSEWHERE), False),
        (RULE, True),
        (agent(ALL, more="{env: [{name: TAINT, value: example.com/layout}]}"), True),
        (agent(ALL, more="{envFrom: [{configMapRef: {name: settings}}]}"), True),
        (agent(ALL, more="{envFrom: [{configMapRef: {name: other}}]}"), False),
    ],
)
def test_lint_and_trace_find_the_agents_that_remove_a_taint(text: str, is_removed: bool) -> None:
    settings = """
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: settings, namespace: default}
    data: {TAINT: example.com/layout}
    """
    assert ("REF025" not in ids(POOL, settings, text, is_complete=True)) == is_removed
    index = ClusterIndex(tree(POOL, settings, text, is_complete=True))
    (step,) = startup_step(index, index.nodes.pools[0], "main")
    assert step.failed != is_removed
    assert "REF025" not in ids(POOL, text), "in partial input the agent may be in other files"


@pytest.mark.parametrize(
    ("args", "is_reported"),
    [
        ("[taint, node, $(NODE), 'example.com/cut:NoSchedule-']", True),
        ("[taint, nodes, $(NODE), 'example.com/cut=a:NoSchedule-']", True),
        ("[taint, node, $(NODE), 'example.com/layout:NoSchedule-']", False),
        ("[taint, node, $(NODE), 'example.com/cut=done:NoSchedule']", False),
        ("[label, node, $(NODE), 'example.com/cut-']", False),
    ],
)
def test_a_daemonset_removes_only_startup_taints_of_its_nodes(args: str, is_reported: bool) -> None:
    gate = agent(OWN, args)
    assert ("REF081" in ids(POOL, gate, is_complete=True)) == is_reported
    assert "REF081" not in ids(POOL, gate), "in partial input another program may add the taint"
    assert "REF081" not in ids(POOL, gate.replace("DaemonSet", "Deployment"), is_complete=True)
