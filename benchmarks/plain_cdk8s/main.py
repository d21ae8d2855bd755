"""Prints the objects of gpuc with cdk8s in Python: one Chart for each file, without checks.

Usage: python main.py OBJECTS.json OUTPUT_FOLDER, where OBJECTS.json maps each file to its objects.
"""

import json
import sys
from pathlib import Path
from typing import Any

from cdk8s import ApiObject, ApiObjectMetadata, App, Chart, JsonPatch

OUTSIDE_THE_BODY = ("apiVersion", "kind", "metadata")


def add(chart: Chart, id: str, document: dict[str, Any]) -> None:  # noqa: A002
    """Adds an object to a chart. Fields outside of metadata are JSON patches, the only form of plain data in cdk8s."""
    metadata = document["metadata"]
    api_object = ApiObject(
        chart,
        id,
        api_version=document["apiVersion"],
        kind=document["kind"],
        metadata=ApiObjectMetadata(
            name=metadata["name"],
            namespace=metadata.get("namespace"),
            labels=metadata.get("labels"),
            annotations=metadata.get("annotations"),
        ),
    )
    body = {key: value for key, value in document.items() if key not in OUTSIDE_THE_BODY}
    if body:
        api_object.add_json_patch(*(JsonPatch.add(f"/{key}", value) for key, value in body.items()))


def main(objects: Path, folder: str) -> None:
    """Writes the objects of each file to the folder, as one Chart."""
    app = App(outdir=folder, output_file_extension=".yaml")
    for file, documents in json.loads(objects.read_text(encoding="utf-8")).items():
        chart = Chart(app, file.removesuffix(".yaml").replace("/", "-"))
        for index, document in enumerate(documents):
            add(chart, f"object-{index}", document)
    app.synth()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
