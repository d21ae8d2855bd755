"""Labels of NodePools that Karpenter refuses, and labels and sizes that no instance type of AWS has."""

import re
from collections.abc import Iterator

from gpuc.cluster.index import Index
from gpuc.cluster.pool import Pool
from gpuc.cluster.pool_fields import LABELS, REQUIREMENTS
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.spelling import misspelt, write
from gpuc.kubernetes.api_groups import KARPENTER, KARPENTER_AWS
from gpuc.kubernetes.node_pool import (
    AWS_INSTANCE,
    AWS_LABELS,
    HOSTNAME,
    INSTANCE_TYPE,
    is_restricted,
    is_well_known,
    normal,
)
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items, pairs

NO_SUCH_LABEL = rule_of("REF088")
_SIZES = re.compile(r"nano|micro|small|medium|large|(?:\d+)?xlarge|metal(?:-\d+xl)?")
"""The sizes of EC2 instances.

Source: https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html
"""
_TYPE = re.compile(r"[a-z][a-z0-9-]*\.([a-z0-9-]+)")


@check(NO_SUCH_LABEL, kinds=("karpenter.sh/*", "karpenter.k8s.aws/*", "nfd.k8s-sigs.io/*"))
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about the labels and the requirements of node pools of Karpenter."""
    for pool in objects.once(Index).nodes.pools:
        if pool.manifest.api.startswith(f"{KARPENTER}/"):
            for path, key in _keys(pool):
                if message := _refused(key):
                    yield ObjectFinding(NO_SUCH_LABEL, pool.manifest, path, message)
                elif pool.api_group == KARPENTER_AWS:
                    meant = _meant(key)
                    message = f'no instance type has the label "{key}", did you mean "{meant}"'
                    parts = (pool.manifest, path, message, write(meant))
                    yield from [ObjectFinding(NO_SUCH_LABEL, *parts)] if meant else []
            yield from _values(pool) if pool.api_group == KARPENTER_AWS else ()


def _keys(pool: Pool) -> Iterator[tuple[Path, str]]:
    """Yields the path and the key of each label and requirement."""
    body = pool.manifest.body
    yield from (((*LABELS, key), key) for key, _ in pairs(dig(body, *LABELS)) if isinstance(key, str))
    for number, row in items(dig(body, *REQUIREMENTS)):
        if isinstance(key := dig(row, "key"), str):
            yield (*REQUIREMENTS, number, "key"), key


def _refused(key: str) -> str:
    """Returns why the API server refuses a label of a NodePool.

    Source: karpenter v1.14.1 pkg/apis/crds/karpenter.sh_nodepools.yaml (label domain "karpenter.sh" is restricted)
    """
    domain = key.rpartition("/")[0]
    if key != HOSTNAME and not (is_restricted(key) and f".{domain}".endswith(f".{KARPENTER}")):
        return ""
    return f"Karpenter reserves {key}, and the API server refuses it in a NodePool"


def _meant(key: str) -> str:
    """Returns the label of instance types whose name has another domain in a requirement; empty for other keys."""
    domain, _, name = key.rpartition("/")
    is_foreign = domain and not domain.endswith(("kubernetes.io", "k8s.io", "k8s.aws", "karpenter.sh"))
    if is_foreign or not name.startswith("instance-") or is_well_known(normal(key)):
        return ""
    own = f"{AWS_INSTANCE}{name.removeprefix('instance-')}"
    return own if own in AWS_LABELS else misspelt(own, AWS_LABELS)


def _values(pool: Pool) -> Findings:
    """Yields findings about instance types and sizes that the scheme of EC2's names does not have."""
    for number, row in items(dig(pool.manifest.body, *REQUIREMENTS)):
        key = dig(row, "key")
        if not isinstance(key, str) or normal(key) != INSTANCE_TYPE:
            continue
        for position, value in items(dig(row, "values")):
            found = _TYPE.fullmatch(value) if isinstance(value, str) else None
            size = found[1] if found else ""
            if size and not _SIZES.fullmatch(size):
                meant = misspelt(value, pool.catalog.instances)
                message = f'EC2 has no instance type "{value}": there is no size {size}'
                message += f', did you mean "{meant}"' if meant else ""
                path = (*REQUIREMENTS, number, "values", position)
                yield ObjectFinding(NO_SUCH_LABEL, pool.manifest, path, message, write(meant))
