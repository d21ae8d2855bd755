"""`gpuc catalog import`: converts the output of the EC2 API or the Price List API into a file for specs/catalog/."""

import json
from pathlib import Path
from typing import Any

from gpuc.diagnostics.report.console import write_stderr, write_stdout
from gpuc.diagnostics.report.terminal import visible
from gpuc.diagnostics.usage import UsageError
from gpuc.objects.object_set import dig
from gpuc.pipeline.ec2_rows import imported_rows
from gpuc.pipeline.price_rows import price_rows

_SIZE_MAX = 256 * 2**20


def run_import(file: str, source: str | None) -> int:
    """Prints the converted data and returns the exit code: 1 if an instance type could not be converted.

    Args:
        file: the path of the file, or - for standard input.
        source: where the data comes from; None for the command that prints the data.

    Raises:
        UsageError: when the file cannot be read, or the source is not a line of text.
    """
    if source is not None and not (source.isprintable() and 0 < len(source) <= 400):
        raise UsageError("--source requires one line of text with at most 400 characters")
    name, data = "<stdin>" if file == "-" else file, _read(file)
    products = _products(data)
    if products is not None:
        prices, others, findings = price_rows(products, name, source or "aws pricing get-products")
        text, skipped = yaml_text(prices), others
        why = "other offers without a row: expected Linux, shared tenancy, on demand or reserved"
    else:
        rows, same, findings = imported_rows(data, name, source or "aws ec2 describe-instance-types")
        text, skipped = yaml_text(rows), len(same)
        why = f"instance types without a row, because gpuc has the same figures: {' '.join(same)}"
    write_stdout(text)
    if skipped:
        write_stderr(f"{skipped} {why}\n")
    for finding in findings:
        write_stderr(visible(f"{finding.mark}: {finding.severity.value} {finding.id} {finding.message}") + "\n")
    return int(bool(findings))


def yaml_text(rows: dict[str, dict[str, Any]] | list[dict[str, Any]]) -> str:
    """Returns the YAML text of a file for specs/catalog/ with instance types or prices. The values are JSON in YAML."""

    def values(row: dict[str, Any]) -> list[str]:
        return [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in row.items()]

    if isinstance(rows, list):
        key, lines = "prices:", [f"  - {{{', '.join(values(row))}}}" for row in rows]
    else:
        key, lines = (
            "instanceTypes:",
            [line for name, row in rows.items() for line in (f"  {name}:", *(f"    {value}" for value in values(row)))],
        )
    head = ["apiVersion: gpuc.dev/v1alpha1", "kind: Catalog", key if rows else f"{key} {json.dumps(rows)}"]
    return "".join(f"{line}\n" for line in (*head, *lines))


def _read(file: str) -> bytes:
    try:
        with Path("/dev/stdin" if file == "-" else file).open("rb") as stream:
            data = stream.read(_SIZE_MAX + 1)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
    if len(data) > _SIZE_MAX:
        raise UsageError(f"{file} is larger than {_SIZE_MAX >> 20} MiB")
    return data


def _products(data: bytes) -> list[Any] | None:
    """Returns the list PriceList of the output of `aws pricing get-products`; None for other input."""
    if b'"PriceList"' not in data:
        return None
    try:
        products = dig(json.loads(data), "PriceList")
    except (ValueError, RecursionError):
        return None
    return products if isinstance(products, list) else None
