"""The section `cloud` of the spec, which chooses the substrate: the place where the cluster lives, such as a cloud."""

from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import BaseModel, model_validator

from gpuc.spec.base import SpecModel
from gpuc.spec.substrate import Sections, substrates, with_cloud_sections


class AnyCloud(SpecModel):
    """The place where the cluster lives. Exactly one key, which chooses the substrate."""

    is_choice: ClassVar[bool] = True
    """Whether a message names the keys as alternatives."""

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        names = [part.name for part in substrates() if getattr(self, part.name) is not None]
        if len(names) != 1:
            known = ", ".join(part.name for part in substrates())
            problem = f"{' and '.join(names)} exclude each other" if names else "the substrate is missing"
            raise ValueError(f"{problem}; expected one of {known}")
        return self

    @property
    def substrate(self) -> Sections:
        """The substrate that the spec has chosen."""
        return next(part for part in substrates() if getattr(self, part.name) is not None)

    @property
    def section(self) -> BaseModel:
        """The settings of the cluster for its substrate, for example the value of `cloud.onPremises`."""
        section: BaseModel = getattr(self, self.substrate.name)
        return section


if TYPE_CHECKING:
    Cloud = AnyCloud
else:
    Cloud = with_cloud_sections(AnyCloud)
