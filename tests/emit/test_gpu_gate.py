"""Layout gate: permissions of its service account."""

from __future__ import annotations

from gpuc.emit.layout_gate import layout_gate
from tests.conftest import example


def test_the_account_of_the_gate_may_read_and_patch_nodes_and_nothing_else() -> None:
    objects = {manifest.kind: manifest for manifest in layout_gate(example("infer-euw1"))}
    assert objects["ClusterRole"].body["rules"] == [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "patch", "watch"]}
    ]
    account = objects["ServiceAccount"]
    (subject,) = objects["ClusterRoleBinding"].body["subjects"]
    assert subject == {"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace}
    assert objects["ClusterRoleBinding"].body["roleRef"]["name"] == objects["ClusterRole"].name
    assert objects["DaemonSet"].body["spec"]["template"]["spec"]["serviceAccountName"] == account.name


def test_a_cluster_with_layouts_in_user_data_has_no_gate() -> None:
    assert list(layout_gate(example("prod-use1"))) == []
