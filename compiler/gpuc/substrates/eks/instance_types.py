"""Checks the EC2 instance types that a spec names for node pools."""

import re

from gpuc.catalog import Catalog
from gpuc.catalog.records import InstanceType
from gpuc.diagnostics.finding import Finding, Path, rule_table
from gpuc.diagnostics.spelling import misspelt, write

rule_of = rule_table(__file__)
UNSUPPORTED = rule_of("KRP101")
NO_FIGURES = rule_of("KRP130")
_LISTED = 6
"""The maximum number of instance types that a message lists."""
_NUMBER = re.compile(r"(\d{1,3})x")
_SMALL = {"nano": 1, "micro": 1, "small": 1, "medium": 1, "large": 2, "xlarge": 4}
"""The number of vCPUs by size, for sizes whose names contain no number."""
_ADD = "to add the type, write a row in specs/catalog/ (`gpuc catalog import --help`)"


def refused_type(name: str, path: Path, catalog: Catalog) -> Finding | None:
    """Returns the finding about an instance type that node pools cannot use; None for a type that gpuc supports."""
    instance = catalog.instance_type(name)
    if reason := _why_unsupported(name, instance, catalog):
        return UNSUPPORTED.at(path, reason)
    return _without_figures(name, path, catalog) if instance is None else None


def _why_unsupported(name: str, instance: InstanceType | None, catalog: Catalog) -> str:
    """Returns a message if node pools cannot use an instance type; an empty string otherwise."""
    if instance is not None and "." not in name:
        return f"{name} is a type of server; expected EC2 instance types such as p5.48xlarge"
    row = catalog.unsupported_instances.get(name)
    family = catalog.ec2_families.get(name.partition(".")[0])
    if instance is None:
        return f"instance type {name} is not supported: {row.reason}" if row is not None else ""
    if instance.gpu and not instance.gpu_count:
        return f"instance type {name} has only a fraction of a GPU, which Karpenter does not count as a GPU"
    if family is not None and not instance.gpu and (family.gpu or family.accelerator):
        return f"instance type {name} has {family.gpu or family.accelerator} accelerators; expected NVIDIA GPUs or none"
    return ""


def _without_figures(name: str, path: Path, catalog: Catalog) -> Finding:
    """Returns the finding for an instance type without figures.

    The finding has a fix only for a typing error in the size, or a wrong hyphen in the family. Most families differ in
    one letter and are different hardware, so the message lists only instance types of the same family.
    """
    family, _, size = name.partition(".")
    sizes = [other.type.partition(".")[2] for other in catalog.family(family)]
    if sizes:
        near = sorted(sizes, key=lambda other: _distance(size, other))[:_LISTED]
        listed = ", ".join(f"{family}.{other}" for other in sorted(near, key=sizes.index))
        suggestion = misspelt(size, sizes)
        message = f"gpuc does not know instance type {name}; similar types are {listed}; {_ADD}"
        return NO_FIGURES.at(path, message, fix=write(suggestion and f"{family}.{suggestion}"))
    unpublished = catalog.unpublished_types.get(family)
    if unpublished is not None:
        reason = f"EC2 publishes only the name of family {family}"
        return NO_FIGURES.at(path, f"gpuc does not know instance type {name}: {reason}; {_ADD}")
    families = dict.fromkeys((*catalog.ec2_families, *(other.family for other in catalog.instances.values())))
    meant = [f"{other}.{size}" for other in families if other.replace("-", "") == family.replace("-", "")]
    fix = write(meant[0]) if len(meant) == 1 and catalog.instance_type(meant[0]) is not None else ""
    return NO_FIGURES.at(path, f"gpuc does not know instance type {name} or its family {family}; {_ADD}", fix=fix)


def _distance(size: str, other: str) -> tuple[bool, int, str]:
    """Returns a sort key: the difference between two sizes such as 4xlarge and 12xlarge."""
    left, right = _vcpus(size), _vcpus(other)
    return left is None or right is None, abs((left or 0) - (right or 0)), other


def _vcpus(size: str) -> int | None:
    """Returns the usual number of vCPUs of a size; None for metal sizes and unknown names."""
    if size in _SMALL:
        return _SMALL[size]
    number = _NUMBER.match(size)
    return 4 * int(number[1]) if number else None
