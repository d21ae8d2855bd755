"""The check of user data survives any text, also the beginnings of correct user data."""

from random import Random

import pytest

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.substrates.eks.checks.node_classes import findings

TEXTS = (
    "#!/bin/bash\necho a: b\n",
    "[settings.kubernetes]\nmax-pods = 50\n",
    "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {config: {maxPods: 50, 7: a}, flags: [a]}}\n",
    "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: application/node.eks.aws\n\n"
    "kind: NodeConfig\n--B\nContent-Type: text/x-shellscript\nContent-Transfer-Encoding: base64\n\nIyE=\n--B--\n",
)  # fmt: skip
FAMILIES = ("al2", "al2023", "bottlerocket", "windows2022", "")


@pytest.mark.parametrize("family", FAMILIES)
def test_any_text_is_accepted(family: str) -> None:
    random = Random(40)
    texts = [text[:end] for text in TEXTS for end in range(0, len(text), 7)]
    texts += ["".join(random.sample(text, len(text))) for text in TEXTS] + ["\0\t\ud800", "[" * 5000, "{" * 2000]
    for text in texts:
        terms = [{"alias": f"{family}@latest"}] if family else [{"id": "ami-1"}]
        spec = {"amiSelectorTerms": terms, "userData": text, **({} if family else {"amiFamily": "Custom"})}
        body = {"spec": spec}
        manifest = Manifest("a.yaml", (0,), "karpenter.k8s.aws/v1", "EC2NodeClass", "a", body)
        found = list(findings(ObjectSet([manifest], is_complete=False)))
        assert len(found) <= 1
        assert not found or family in FAMILIES[:3]
