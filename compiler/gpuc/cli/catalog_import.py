"""`gpuc catalog import`: converts the output of `aws ec2 describe-instance-types` to rows of specs/catalog/.

price_import.py converts the output of `aws pricing get-products`.

Source: boto/botocore botocore/data/ec2/2016-11-15/service-2.json, InstanceTypeInfo; aws/karpenter-provider-aws v1.14.1
pkg/providers/instancetype/types.go (ENILimitedPods, computeRequirements)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gpuc.catalog import load
from gpuc.cli.options import CatalogOptions
from gpuc.diagnostics.finding import Finding, Mark, Severity, declare_rule
from gpuc.diagnostics.report.console import write_stderr, write_stdout
from gpuc.diagnostics.report.terminal import visible
from gpuc.diagnostics.usage import UsageError
from gpuc.objects.object_set import dig, items
from gpuc.spec.facts import InstanceRow

MALFORMED = declare_rule(
    "CAT101", Severity.ERROR, "The input of `gpuc catalog import` is not the output of the EC2 API.",
    "Expected is the JSON output of `aws ec2 describe-instance-types`: a map with the key InstanceTypes, or its list; "
    "or the output of `aws pricing get-products`: a map with the key PriceList.",
)  # fmt: skip
MISSING = declare_rule(
    "CAT102", Severity.ERROR, "The EC2 API gives no valid figure for an instance type.",
    "gpuc computes quotas, limits and the resources of nodes from these figures, so it writes no row.",
)  # fmt: skip
NO_GPU = declare_rule(
    "CAT103", Severity.ERROR, "An instance type to import has GPUs or accelerators that gpuc does not know.",
    "gpuc needs the memory, the architecture and the MIG profiles of a GPU to configure its nodes.",
)  # fmt: skip

_SIZE_MAX = 256 * 2**20
_TYPE = re.compile(r"[a-z][a-z0-9-]{0,30}\.[a-z0-9-]{1,30}")
_ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}
_ACCELERATORS = ("NeuronInfo", "InferenceAcceleratorInfo")
_MEMORY_TOLERANCE = 0.1
"""The part by which the memory of a GPU in the EC2 API may differ from the memory that NVML reports."""


class _Unusable(Exception):
    """No row for an instance type. The exception contains the finding."""

    def __init__(self, finding: Finding) -> None:
        self.finding = finding
        super().__init__(finding.message)


def run_import(file: str, source: str) -> int:
    """Prints the rows of a file and returns the exit code: 1 if an instance type has no row because of an error.

    Args:
        file: the path of the file, or - for standard input.
        source: the text of the sources of the rows.

    Raises:
        UsageError: when the file cannot be read, or the source is not a line of text.
    """
    if not source or not source.isprintable() or len(source) > 400:
        raise UsageError("--source requires one line of text with at most 400 characters")
    name, data = "<stdin>" if file == "-" else file, _read(file)
    if (products := _products(data)) is not None:
        findings = _import_prices(products, name, source)
    else:
        rows, same, findings = imported_rows(data, name, source)
        write_stdout(yaml_text(rows))
        if same:
            names = " ".join(same)
            write_stderr(f"{len(same)} instance types without a row, because gpuc has the same figures: {names}\n")
    for finding in findings:
        write_stderr(visible(f"{finding.mark}: {finding.severity.value} {finding.id} {finding.message}") + "\n")
    return int(bool(findings))


def _products(data: bytes) -> list[Any] | None:
    """Returns the list PriceList of the output of `aws pricing get-products`; None for other input."""
    if b'"PriceList"' not in data:
        return None
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    products = dig(document, "PriceList")
    return products if isinstance(products, list) else None


def _import_prices(products: list[Any], file: str, source: str) -> list[Finding]:
    """Prints the prices of a file, and returns the findings."""
    from gpuc.cli import price_import

    of_prices = "aws pricing get-products" if source == CatalogOptions.source else source
    rows, others, findings = price_import.price_rows(products, file, of_prices)
    write_stdout(price_import.yaml_text(rows))
    if others:
        write_stderr(f"{others} other offers without a row: expected Linux, shared tenancy, on demand or reserved\n")
    return findings


def _read(file: str) -> bytes:
    try:
        with Path("/dev/stdin" if file == "-" else file).open("rb") as stream:
            data = stream.read(_SIZE_MAX + 1)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
    if len(data) > _SIZE_MAX:
        raise UsageError(f"{file} is larger than {_SIZE_MAX >> 20} MiB")
    return data


def imported_rows(data: bytes, file: str, source: str) -> tuple[dict[str, dict[str, Any]], list[str], list[Finding]]:
    """Returns the rows by instance type, the types of which gpuc has the same figures, and the findings.

    Args:
        data: the JSON output of the EC2 API.
        file: the name of the file for the findings.
        source: the text of the sources of the rows.
    """
    types = _types(data, file)
    if isinstance(types, Finding):
        return {}, [], [types]
    rows: dict[str, dict[str, Any]] = {}
    same: list[str] = []
    findings: list[Finding] = []
    for index, info in enumerate(types):
        name = dig(info, "InstanceType")
        if not isinstance(name, str) or not _TYPE.fullmatch(name):
            message = f"InstanceTypes[{index}].InstanceType is missing or no name; expected a name such as p5.48xlarge"
            findings.append(MALFORMED.at((), message, mark=Mark(file, 1, 1)))
            continue
        try:
            row = _row(info, source)
        except _Unusable as error:
            findings.append(_at(error.finding, name, file))
            continue
        if _is_known(name, row):
            same.append(name)
        else:
            rows[name] = row
    return dict(sorted(rows.items())), sorted(same), findings


def _at(finding: Finding, name: str, file: str) -> Finding:
    return Finding(finding.id, finding.severity, f"{name}: {finding.message}", mark=Mark(file, 1, 1))


def _types(data: bytes, file: str) -> list[Any] | Finding:
    """Returns the descriptions of the instance types, or a finding if the input is not the output of the API."""
    try:
        document = json.loads(data)
    except json.JSONDecodeError as error:
        message = f"the input is not JSON: {error.msg.lower()}"
        return MALFORMED.at((), message, mark=Mark(file, error.lineno, error.colno))
    except (ValueError, RecursionError) as error:
        return MALFORMED.at((), f"the input is not JSON: {str(error)[:100]}", mark=Mark(file, 1, 1))
    types = document.get("InstanceTypes") if isinstance(document, dict) else document
    if not isinstance(types, list):
        return MALFORMED.at((), "the input has no list InstanceTypes", mark=Mark(file, 1, 1))
    return types


def _row(info: Any, source: str) -> dict[str, Any]:
    """Returns the row of an instance type, with the keys of specs/catalog/.

    Raises:
        _Unusable: when the API gives no valid figures, or gpuc does not know the GPUs.
    """
    row: dict[str, Any] = {
        "arch": _architecture(info),
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
        raise _Unusable(MISSING.at((), message)) from None
    return row


def _number(info: Any, *path: str | int) -> int:
    value = dig(info, *path)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        name = ".".join(map(str, path))
        raise _Unusable(MISSING.at((), f"{name} is missing or no number; expected a number of 0 or more"))
    return value


def _architecture(info: Any) -> str:
    names = [name for _, name in items(dig(info, "ProcessorInfo", "SupportedArchitectures"))]
    found = [_ARCHITECTURES[name] for name in names if isinstance(name, str) and name in _ARCHITECTURES]
    if not found:
        raise _Unusable(MISSING.at((), "ProcessorInfo.SupportedArchitectures has neither x86_64 nor arm64"))
    return found[0]


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
        raise _Unusable(NO_GPU.at((), f"{accelerator} has accelerators; expected NVIDIA GPUs or none"))
    gpus = [gpu for _, gpu in items(dig(info, "GpuInfo", "Gpus"))]
    if not gpus:
        return {}
    name, maker = dig(gpus[0], "Name"), dig(gpus[0], "Manufacturer")
    memory, count = dig(gpus[0], "MemoryInfo", "SizeInMiB"), dig(gpus[0], "Count")
    if len(gpus) > 1 or str(maker).casefold() != "nvidia" or not isinstance(name, str):
        raise _Unusable(NO_GPU.at((), f"GpuInfo has {_shown(maker)} {_shown(name)}; expected one model of NVIDIA"))
    gpu = _known_gpu(name, memory)
    if gpu is None:
        known = ", ".join(sorted({row.karpenter_name for row in load().gpus.values() if row.karpenter_name}))
        message = f"gpuc has no GPU {_shown(name)} with {_shown(memory)} MiB; known on EC2: {known}"
        raise _Unusable(NO_GPU.at((), message))
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise _Unusable(NO_GPU.at((), f"GpuInfo has {_shown(count)} complete GPUs; expected 1 or more"))
    row: dict[str, Any] = {"gpu": gpu, "gpuCount": count}
    boards = (other for other in load().instances.values() if (other.gpu, other.gpu_count) == (gpu, count))
    return row | ({"nvswitch": True} if any(other.nvswitch for other in boards) else {})


def _shown(value: Any) -> str:
    return ascii(value)[:60] if value is not None else "nothing"


def _known_gpu(name: str, memory_mib: Any) -> str | None:
    """Returns the id of the GPU with a name of the EC2 API and the most similar memory; None if gpuc knows none."""
    label = "-".join(name.lower().split())
    candidates = [row for row in load().gpus.values() if row.karpenter_name == label and row.memory_mib]
    if isinstance(memory_mib, bool) or not isinstance(memory_mib, int) or not candidates:
        return candidates[0].id if len(candidates) == 1 else None
    nearest = min(candidates, key=lambda row: abs((row.memory_mib or 0) - memory_mib))
    difference = abs((nearest.memory_mib or 0) - memory_mib)
    return nearest.id if difference <= _MEMORY_TOLERANCE * (nearest.memory_mib or 0) else None


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


def yaml_text(rows: dict[str, dict[str, Any]]) -> str:
    """Returns the text of a file for specs/catalog/. JSON strings are YAML strings too."""
    return "".join(_lines(rows))


def _lines(rows: dict[str, dict[str, Any]]) -> Iterator[str]:
    yield "apiVersion: gpuc.dev/v1alpha1\nkind: Catalog\n"
    yield "instanceTypes:\n" if rows else "instanceTypes: {}\n"
    for name, row in rows.items():
        yield f"  {name}:\n"
        yield from (f"    {key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in row.items())
