"""Checks of EC2NodeClasses: refused fields, user data that nodes read, and volumes that hold data of pods.

Source: aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/ec2nodeclass.go; pkg/providers/amifamily (al2.go, al2023.go,
bottlerocket.go) and bootstrap (eksbootstrap.go, nodeadm.go, bottlerocketsettings.go, mime/mime.go);
awslabs/amazon-eks-ami v20260724 templates/al2023/runtime/rootfs/etc/eks/bootstrap.sh; k8s.io/kubelet v0.36.3
config/v1beta1/types.go
"""

import re
import tomllib
from collections.abc import Iterator
from email import message_from_string
from typing import Any

from gpuc.cluster.node_class import DATA_DEVICES, NodeClass
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.spelling import alternatives, misspelt
from gpuc.kubernetes.api_groups import KARPENTER_AWS
from gpuc.lint.checks import Findings, check
from gpuc.lint.checks.consistency.refused_fields import REFUSED_FIELD
from gpuc.objects.embedded import document
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items, pairs
from gpuc.substrates.eks.rules.user_data import user_data_of_other_image
from gpuc.substrates.eks.rules.volumes import root_volume_without_use

_NODE_CONFIG, _SCRIPT = "application/node.eks.aws", "text/x-shellscript"
_AMIS = "amiSelectorTerms"
_TERMS = (_AMIS, "subnetSelectorTerms", "securityGroupSelectorTerms", "capacityReservationSelectorTerms")
_BOOTSTRAP = re.compile(r"^[ \t]*(?:sudo |exec )?(?:(?:ba)?sh )?/etc/eks/bootstrap\.sh\b", re.MULTILINE)


@check(REFUSED_FIELD, user_data_of_other_image.rule, root_volume_without_use.rule, kinds=(f"{KARPENTER_AWS}/*",))
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about AMI families, user data that nodes do not read, and volumes without data of pods."""
    for row in objects.of(KARPENTER_AWS, "EC2NodeClass"):
        for path, why in _refused(dig(row.body, "spec")):
            yields = path != ("amiFamily",)
            yield ObjectFinding(REFUSED_FIELD, row, ("spec", *path), why, needs="complete template", yields=yields)
        text, family = dig(row.body, "spec", "userData"), NodeClass(KARPENTER_AWS, row).family
        problem = next(_problems(objects, family, text), "") if isinstance(text, str) and text.strip() else ""
        if problem:
            yield ObjectFinding(user_data_of_other_image.rule, row, ("spec", "userData"), problem)
        disks = [dig(disk, "deviceName") for _, disk in items(dig(row.body, "spec", "blockDeviceMappings"))]
        device = DATA_DEVICES.get(family, "" if text else "/dev/xvda")  # a script may mount other volumes
        if family in ("al2", "al2023", "bottlerocket") and device and disks and device not in disks:
            message = (
                f"images and data of pods are on {device}, which has the size of the AMI; expected this deviceName"
            )
            yield ObjectFinding(root_volume_without_use.rule, row, ("spec", "blockDeviceMappings"), message)


def _refused(spec: Any) -> Iterator[tuple[Path, str]]:
    """Yields the fields because of which the API server refuses an EC2NodeClass, each with the reason."""
    terms = {name: [dict(pairs(term)) for _, term in items(dig(spec, name))] for name in _TERMS}
    aliases = [str(term["alias"]) for term in terms[_AMIS] if term.get("alias") is not None]
    alias, family = next(iter(aliases), "").partition("@")[0], dig(spec, "amiFamily")
    if family is None and terms[_AMIS] and not alias:
        yield ("amiFamily",), "expected the family of the AMIs, because no term has an alias"
    if family not in (None, "Custom") and alias.isalnum() and str(family).lower() != alias:
        yield ("amiFamily",), f"the alias is of {alias}, so the family cannot be {family}; expected no amiFamily"
    if aliases and len(terms[_AMIS]) > 1:
        yield (_AMIS,), "a term with alias cannot be beside other terms"
    if dig(spec, "role") is not None and dig(spec, "instanceProfile") is not None:
        yield ("instanceProfile",), "role and instanceProfile are both set; only one is allowed"
    for name, rows in terms.items():
        keys = [{key for key, value in row.items() if value is not None and key != "ssmParameter"} for row in rows]
        wrong = [(row, key) for row, own in enumerate(keys) for key in ("id", "alias") if key in own and own != {key}]
        if wrong and (name == _AMIS or len(wrong) == len(rows)):
            yield (name, *wrong[0]), f"a term with {wrong[0][1]} cannot have other fields"


def _problems(objects: ObjectSet, family: str, text: str) -> Iterator[str]:
    if family == "bottlerocket":
        try:
            settings = tomllib.loads(text).get("settings")
        except (ValueError, RecursionError) as error:
            yield f"Bottlerocket reads settings in TOML ({error})"
        else:
            yield from [] if settings else ["Bottlerocket reads the table settings, which the user data lacks"]
    for kind, content in _parts(objects, text) if family in ("al2", "al2023") else ():
        if kind == _NODE_CONFIG:
            yield from _of_node_config(objects, content) if family == "al2023" else ["AL2 reads no NodeConfig"]
        elif kind and kind != _SCRIPT:
            continue
        elif not kind or not content.lstrip().startswith("#!"):
            yield f"{family.upper()} runs scripts that begin with #!, and MIME archives of several parts"
        elif family == "al2023" and _BOOTSTRAP.search(content):
            yield "AL2023 has no /etc/eks/bootstrap.sh: the script fails; expected a NodeConfig"


def _parts(objects: ObjectSet, text: str) -> Iterator[tuple[str, str]]:
    """Yields the types and texts of the parts of user data. The type is empty for an archive that has no parts."""
    if not text.strip().startswith(("MIME-Version:", "Content-Type:")):
        is_map = isinstance(document(objects, text), dict) or "kind: NodeConfig" in text
        yield _NODE_CONFIG if is_map else _SCRIPT, text
        return
    archive = message_from_string(text.strip())
    for part in archive.walk() if archive.is_multipart() else ():
        is_plain = part.get("Content-Transfer-Encoding", "7bit") in ("7bit", "8bit")
        yield (part.get_content_type(), str(part.get_payload())) if is_plain else ("other", "")
    yield from [] if archive.is_multipart() else [("", text)]


def _of_node_config(objects: ObjectSet, text: str) -> Iterator[str]:
    config, fields = document(objects, text), objects.catalog.kubelet.fields
    if isinstance(config, dict) and dig(config, "kind") != "NodeConfig":
        yield f"AL2023 reads a map in YAML as a NodeConfig, and its kind is {dig(config, 'kind') or 'missing'}"
    for key, _ in pairs(dig(config, "spec", "kubelet", "config")):
        if key not in fields:
            yield f'the kubelet has no field "{key}"{alternatives((), misspelt(str(key), fields))}'
