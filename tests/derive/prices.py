"""`python -m tests.derive.prices FILE` writes prices.json from Karpenter's table of on-demand prices.

FILE is pkg/providers/pricing/zz_generated.pricing_aws.go of aws/karpenter-provider-aws at the commit below.
"""

import json
import re
import sys
from pathlib import Path

from gpuc.catalog.rows import FOLDER

FILE = FOLDER / "prices.json"
REGION = "us-east-1"
_SOURCE = "aws/karpenter-provider-aws main at 6fc13b523 (2026-07-20) pkg/providers/pricing/zz_generated.pricing_aws.go"
_DATE = re.compile(r"^// generated at (\d{4}-\d\d-\d\d)", re.MULTILINE)
_PRICE = re.compile(r'"([a-z0-9-]+)\.([a-z0-9-]+)": ([0-9.]+)')


def text(table: str) -> str:
    """Returns the content of prices.json for the text of Karpenter's table: one row per family.

    Raises:
        ValueError: when the text is not Karpenter's table.
    """
    date = _DATE.search(table)
    if date is None:
        raise ValueError("the file has no line with the date of the table")
    families: dict[str, dict[str, float]] = {}
    for family, size, hourly in _PRICE.findall(table):
        families.setdefault(family, {})[size] = float(hourly)
    rows = [
        {
            "family": family,
            "region": REGION,
            "date": date[1],
            "sizes": list(prices),
            "hourly_usd": list(prices.values()),
            "source": ["kp-price"],
        }
        for family, prices in sorted(families.items())
    ]
    lines = ",\n".join(json.dumps(row) for row in rows)
    return f'{{\n"sources": {{\n"kp-price": {json.dumps(_SOURCE)}\n}},\n"prices": [\n{lines}\n]\n}}\n'


if __name__ == "__main__":
    FILE.write_text(text(Path(sys.argv[1]).read_text(encoding="utf-8")), encoding="utf-8")
