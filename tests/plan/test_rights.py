"""Rights of groups that have roles with resourceNames or with wildcards."""

from pathlib import Path

import pytest

from gpuc.plan.rights import Right, gained, lost, rights_text
from tests.plan.cases import change_between

ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: reader, namespace: red-main}}
rules:
  - {{apiGroups: [""], resources: [configmaps], verbs: {verbs}, resourceNames: {names}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: readers, namespace: red-main}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "oidc:readers"}}]
"""


@pytest.mark.share(5)
@pytest.mark.parametrize(
    ("before", "after", "expected_gained", "expected_lost"),
    [
        ("[a]", "[b]", ["get configmaps b"], ["get configmaps a"]),
        ("[a]", "[a, b]", ["get configmaps b"], []),
        ("[a]", "[]", ["get, list configmaps"], []),
        ("[]", "[a]", [], ["get, list configmaps"]),
        ("[a]", "[a]", [], []),
    ],
)
def test_a_right_can_be_of_one_object(
    tmp_path: Path, before: str, after: str, expected_gained: list[str], expected_lost: list[str]
) -> None:
    text = "extends: [training.yaml]\n"
    manifests = ({"0.yaml": ROLE.format(verbs="[get, list]", names=names)} for names in (before, after))
    change = change_between(tmp_path, text, text, *manifests)
    assert [rights_text(rights.rights) for rights in gained(change)] == expected_gained
    assert [rights_text(rights.rights) for rights in lost(change)] == expected_lost


def test_a_wildcard_contains_a_right() -> None:
    rights = {Right("*", "batch", "*"), Right("get", "", "secrets", "a")}
    assert Right("create", "batch", "jobs").is_in(rights)
    assert Right("get", "batch", "jobs", "a").is_in(rights)
    assert Right("get", "", "secrets", "a").is_in(rights)
    assert not Right("get", "", "secrets", "b").is_in(rights)
    assert not Right("get", "", "secrets").is_in(rights)
    assert not Right("create", "*", "jobs").is_in(rights)
