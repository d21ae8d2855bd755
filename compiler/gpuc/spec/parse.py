"""Parses a spec into pydantic models, and reports all unknown keys and wrong types and values together."""

from typing import TypeVar

from pydantic import BaseModel, ValidationError

import gpuc.spec.rules  # noqa: F401 - `gpuc explain` needs the rules without a mistake
from gpuc.diagnostics.finding import StageError
from gpuc.source import Source
from gpuc.spec.cluster import ClusterSpec

_Model = TypeVar("_Model", bound=BaseModel)


def parse(source: Source) -> ClusterSpec:
    """Parses the YAML of a cluster into a ClusterSpec.

    Raises:
        StageError: with one finding for each wrong value or key.
    """
    return parse_as(ClusterSpec, source)


def parse_as(model: type[_Model], source: Source) -> _Model:
    """Parses the YAML of a file into a model, for example CatalogFile.

    Raises:
        StageError: with one finding for each wrong value or key.
    """
    try:
        return model.model_validate(source.tree)
    except ValidationError as error:
        from gpuc.spec.mistakes import findings  # imported here, because a correct spec has no mistakes

        raise StageError(findings(error, source, model)) from None
