from __future__ import annotations

import re
from typing import Any

from gpuc.cluster.index import Index
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.objects.embedded import document
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items, pairs

NO_ROOM = rule_of("REF035")
_PROFILE = re.compile(r"([12347])g\.\d+gb(?:\+[a-z.]+)?")
_COMPUTE, _MEMORY = 7, 8
"""Compute slices and memory slices of a GPU. Smaller models have fewer profiles."""
_SLICES = {1: 1, 2: 2, 3: 4, 4: 4, 7: 8}
"""The smallest number of memory slices of a profile, by its number of compute slices."""


@check(NO_ROOM)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about MIG layouts of mig-parted's configuration that need more slices than a GPU has."""
    index = objects.once(Index)
    for manifest in index.tree.of("", "ConfigMap"):
        for key, text in pairs(dig(manifest.body, "data")):
            if not isinstance(text, str) or "mig-configs" not in text or "mig-devices" not in text:
                continue
            for name, entries in pairs(dig(document(index.tree, text), "mig-configs")):
                for number, entry in items(entries):
                    if message := _excess(dig(entry, "mig-devices")):
                        path = ("data", key, "mig-configs", str(name), number, "mig-devices")
                        yield ObjectFinding(NO_ROOM, manifest, path, message)


def _excess(devices: Any) -> str:
    """Returns the message about a layout that needs too many slices; an empty string for other layouts."""
    compute = memory = 0
    for profile, count in pairs(devices):
        match = _PROFILE.fullmatch(str(profile))
        if match is None or isinstance(count, bool) or not isinstance(count, int) or count < 0:
            return ""
        compute += count * int(match[1])
        memory += count * _SLICES[int(match[1])]
    if compute <= _COMPUTE and memory <= _MEMORY:
        return ""
    needed = f"the layout needs {compute} compute slices and {memory} memory slices"
    return f"{needed}; a GPU has {_COMPUTE} compute slices and {_MEMORY} memory slices"
