"""Random changes of the artifacts of a cluster, as customizations make them."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from random import Random
from typing import Any

from msgspec.structs import replace

from gpuc.manifest.manifest import Artifact, Manifest, Values


def changed_somewhere(artifacts: Sequence[Artifact], random: Random) -> list[Artifact]:
    """The artifacts with one to four objects or Helm values in which a field has another value or is missing."""
    places = [number for number, item in enumerate(artifacts) if isinstance(item, Manifest | Values) and item.body]
    chosen = set(random.sample(places, random.randint(1, 4)))
    return [_changed(item, random) if number in chosen else item for number, item in enumerate(artifacts)]


def _changed(artifact: Artifact, random: Random) -> Artifact:
    assert isinstance(artifact, Manifest | Values)
    body = deepcopy(artifact.body)
    places = list(_places(body))
    container, key = random.choice(places)
    value = container[key]
    if isinstance(value, str) and random.random() < 0.6:
        container[key] = random.choice([f"{value}x", value[:-1], "other"])
    elif isinstance(value, int) and not isinstance(value, bool):
        container[key] = value + random.choice([-1, 1, 1000])
    else:
        del container[key]
    if isinstance(artifact, Manifest) and artifact.labels and random.random() < 0.2:
        return replace(artifact, body=body, labels={**artifact.labels, random.choice(list(artifact.labels)): "other"})
    return replace(artifact, body=body)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """The maps and lists of a value with each of their keys and indexes."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        yield value, key
        yield from _places(item)
