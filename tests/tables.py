"""Tables of cases in YAML files beside the modules of tests."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml


@cache
def table(module: str, file: str) -> Any:
    """Returns the content of a YAML file beside a module, for example `table(__file__, "flows.yaml")`."""
    return yaml.load((Path(module).parent / file).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
