"""Settings that nodes of a pool get: labels, taints and user data."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from gpuc.spec.base import SpecModel
from gpuc.spec.form import Words
from gpuc.spec.metadata import LabelKey, LabelValue

USER_DATA_MAX = 16_384
"""The maximum size of the user data of an instance in bytes, before the base64 encoding.

Source: Amazon EC2 User Guide, instance user data
"""
BOUNDARY = "==gpuc=="
"""The boundary between the parts of a MIME archive of user data."""


def _user_data(text: str) -> str:
    wrong = next((char for char in text if not (" " <= char <= "~" or char in "\t\n")), "")
    if wrong:
        raise ValueError(
            f"the text has the character U+{ord(wrong):04X}; expected printable ASCII, tabs and line breaks"
        )
    return text


NodeLabels = Annotated[
    dict[LabelKey, LabelValue], Field(max_length=50), Words("a map such as {example.com/team: research}")
]
"""Node labels by key."""

UserData = Annotated[
    str,
    Field(min_length=1, max_length=USER_DATA_MAX),
    AfterValidator(_user_data),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": USER_DATA_MAX, "pattern": r"^[\t\n -~]*$"}),
]
"""Text that nodes read at the first boot: a script that begins with #!, or settings of Bottlerocket in TOML."""


class NodeTaint(SpecModel):
    """A taint that keeps pods without a toleration off the nodes of a pool."""

    in_messages: ClassVar[str] = "{key: example.com/team, value: research}"

    key: LabelKey
    """The key, for example example.com/team. gpuc reserves domains as for `nodeLabels`."""

    value: LabelValue
    """The value. The admission policy toleration-fence allows tenants only tolerations with this value."""

    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"
    """What happens to pods without a toleration. Default: NoSchedule, they do not start on the nodes.

    PreferNoSchedule: the scheduler prefers other nodes. NoExecute: they do not start, and running pods are evicted.
    """
