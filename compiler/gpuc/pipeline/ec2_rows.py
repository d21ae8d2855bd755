"""Converts the output of `aws ec2 describe-instance-types` into instance types for specs/catalog/.

Source: boto/botocore botocore/data/ec2/2016-11-15/service-2.json, InstanceTypeInfo; aws/karpenter-provider-aws v1.14.1
pkg/providers/instancetype/types.go (ENILimitedPods, computeRequirements)
"""

import json
import re
from typing import Any

from pydantic import ValidationError

from gpuc.catalog import load
from gpuc.diagnostics.finding import Finding, Mark, rule_table
from gpuc.objects.object_set import dig, items
from gpuc.spec.facts import InstanceRow

rule_of = rule_table(__file__)
MALFORMED = rule_of("CAT101")
MISSING = rule_of("CAT102")
NO_GPU = rule_of("CAT103")

_TYPE = re.compile(r"[a-z][a-z0-9-]{0,30}\.[a-z0-9-]{1,30}")
_ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}
_ACCELERATORS = ("NeuronInfo", "InferenceAcceleratorInfo")
_MEMORY_TOLERANCE = 0.1
"""The fraction by which the memory of a GPU in the EC2 API may differ from the memory that NVML reports."""

Rows = dict[str, dict[str, Any]]


class _Unusable(Exception):
    """The input has no row. The arguments are the rule and the message of a finding, and the line and column."""

    def at(self, file: str, name: str = "") -> Finding:
        """Returns the finding about an instance type in a file, or about the file if the type has no name."""
        rule, message, *place = self.args
        line, column = place or (1, 1)
        finding: Finding = rule.at((), f"{name}: {message}" if name else message, mark=Mark(file, line, column))
        return finding


def imported_rows(data: bytes, file: str, source: str) -> tuple[Rows, list[str], list[Finding]]:
    """Returns the converted instance types, the names of types that gpuc knows already, and the findings.

    Args:
        data: the JSON output of the EC2 API.
        file: the name of the file for the findings.
        source: the text that says where the data comes from.
    """
    rows: Rows = {}
    same: list[str] = []
    findings: list[Finding] = []
    try:
        types = _types(data)
    except _Unusable as error:
        return {}, [], [error.at(file)]
    for number, info in enumerate(types):
        name = dig(info, "InstanceType")
        if not isinstance(name, str) or not _TYPE.fullmatch(name):
            message = f"InstanceTypes[{number}].InstanceType is missing or no name; expected a name such as p5.48xlarge"
            findings.append(MALFORMED.at((), message, mark=Mark(file, 1, 1)))
            continue
        try:
            row = _row(info, source)
        except _Unusable as error:
            findings.append(error.at(file, name))
            continue
        if _is_known(name, row):
            same.append(name)
        else:
            rows[name] = row
    return dict(sorted(rows.items())), sorted(same), findings


def _types(data: bytes) -> list[Any]:
    """Returns the descriptions of the instance types.

    Raises:
        _Unusable: when the input is not the output of the API.
    """
    try:
        document = json.loads(data)
    except json.JSONDecodeError as error:
        message = f"the input is not JSON: {error.msg.lower()}"
        raise _Unusable(MALFORMED, message, error.lineno, error.colno) from None
    except (ValueError, RecursionError) as error:
        raise _Unusable(MALFORMED, f"the input is not JSON: {str(error)[:100]}") from None
    types = document.get("InstanceTypes") if isinstance(document, dict) else document
    if not isinstance(types, list):
        raise _Unusable(MALFORMED, "the input has no list InstanceTypes")
    return types


def _row(info: Any, source: str) -> dict[str, Any]:
    """Returns the row of an instance type, with the keys of specs/catalog/.

    Raises:
        _Unusable: when the API gives no valid figures, or gpuc does not know the GPUs.
    """
    names = [name for _, name in items(dig(info, "ProcessorInfo", "SupportedArchitectures"))]
    found = [_ARCHITECTURES[name] for name in names if isinstance(name, str) and name in _ARCHITECTURES]
    if not found:
        raise _Unusable(MISSING, "ProcessorInfo.SupportedArchitectures has neither x86_64 nor arm64")
    row: dict[str, Any] = {
        "arch": found[0],
        "vcpu": _number(info, "VCpuInfo", "DefaultVCpus"),
        "memoryMib": _number(info, "MemoryInfo", "SizeInMiB"),
        "pods": _pods(info),
        **_gpu(info),
        **_devices(info),
        "source": source,
    }
    try:
        InstanceRow.model_validate(row)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        message = f"{first['loc'][-1]} is {str(first['input'])[:40]}: {first['msg'].lower()}"
        raise _Unusable(MISSING, message) from None
    return row


def _number(info: Any, *path: str | int) -> int:
    value = dig(info, *path)
    if not _is_number(value) or value < 0:
        name = ".".join(map(str, path))
        raise _Unusable(MISSING, f"{name} is missing or no number; expected a number of 0 or more")
    return int(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _pods(info: Any) -> int:
    """Returns the maximum number of pods: the interfaces of the default network card, times their IPv4 addresses for
    pods, plus two pods in the network of the host."""
    default = dig(info, "NetworkInfo", "DefaultNetworkCardIndex") or 0
    cards = dig(info, "NetworkInfo", "NetworkCards")
    path: tuple[str | int, ...] = ("NetworkInfo", "MaximumNetworkInterfaces")
    if isinstance(cards, list) and cards:
        index = next((at for at, card in enumerate(cards) if dig(card, "NetworkCardIndex") == default), 0)
        path = ("NetworkInfo", "NetworkCards", index, "MaximumNetworkInterfaces")
    return _number(info, *path) * (_number(info, "NetworkInfo", "Ipv4AddressesPerInterface") - 1) + 2


def _gpu(info: Any) -> dict[str, Any]:
    """Returns the keys of the row about GPUs; an empty map without GPUs."""
    accelerator = next((key for key in _ACCELERATORS if dig(info, key)), "")
    if accelerator:
        raise _Unusable(NO_GPU, f"{accelerator} has accelerators; expected NVIDIA GPUs or none")
    gpus = [gpu for _, gpu in items(dig(info, "GpuInfo", "Gpus"))]
    if not gpus:
        return {}
    name, maker, count = (dig(gpus[0], key) for key in ("Name", "Manufacturer", "Count"))
    memory = dig(gpus[0], "MemoryInfo", "SizeInMiB")
    if len(gpus) > 1 or str(maker).casefold() != "nvidia" or not isinstance(name, str):
        raise _Unusable(NO_GPU, f"GpuInfo has {_shown(maker)} {_shown(name)}; expected one model of NVIDIA")
    gpu = _known_gpu(name, memory)
    if gpu is None:
        known = ", ".join(sorted({row.karpenter_name for row in load().gpus.values() if row.karpenter_name}))
        raise _Unusable(NO_GPU, f"gpuc has no GPU {_shown(name)} with {_shown(memory)} MiB; known on EC2: {known}")
    if not _is_number(count) or count < 1:
        raise _Unusable(NO_GPU, f"GpuInfo has {_shown(count)} complete GPUs; expected 1 or more")
    boards = (other for other in load().instances.values() if (other.gpu, other.gpu_count) == (gpu, count))
    switches = {"nvswitch": True} if any(other.nvswitch for other in boards) else {}
    return {"gpu": gpu, "gpuCount": count, **switches}


def _shown(value: Any) -> str:
    return ascii(value)[:60] if value is not None else "nothing"


def _known_gpu(name: str, memory_mib: Any) -> str | None:
    """Returns the id of the GPU with a name of the EC2 API and the most similar memory; None if gpuc knows none."""
    label = "-".join(name.lower().split())
    known = {row.id: row.memory_mib for row in load().gpus.values() if row.karpenter_name == label and row.memory_mib}
    if not _is_number(memory_mib):
        return next(iter(known)) if len(known) == 1 else None
    near = {gpu: abs(memory - memory_mib) for gpu, memory in known.items()}
    nearest = min(near, key=lambda gpu: near[gpu], default=None)
    return nearest if nearest is not None and near[nearest] <= _MEMORY_TOLERANCE * known[nearest] else None


def _devices(info: Any) -> dict[str, Any]:
    """Returns the keys of the row about the instance store, network cards and EFA, if they have no default value."""
    row: dict[str, Any] = {}
    storage = dig(info, "InstanceStorageInfo")
    if storage and dig(storage, "NvmeSupport") != "unsupported":
        row["localNvmeGb"] = _number(storage, "TotalSizeInGB")
    cards = dig(info, "NetworkInfo", "NetworkCards")
    if isinstance(cards, list) and len(cards) > 1:
        row["networkCards"] = len(cards)
    if dig(info, "NetworkInfo", "EfaInfo"):
        row["efa"] = _number(info, "NetworkInfo", "EfaInfo", "MaximumEfaInterfaces")
    return row


def _is_known(name: str, row: dict[str, Any]) -> bool:
    """Returns whether gpuc has the same figures of the instance type."""
    known = load().instance_type(name)
    if known is None:
        return False
    own = InstanceRow.model_validate(row).model_dump(exclude={"source"}, exclude_none=True)
    return all(getattr(known, key) == value for key, value in own.items()) and known.efa == own.get("efa", 0)
