"""The rows that a fleet adds to tables of the catalog, or with which it replaces rows of gpuc."""

from collections.abc import Mapping

from msgspec import Struct, field

from gpuc.catalog.prices import Price
from gpuc.catalog.records import Daemonset, Image, InstanceType


class OwnRows(Struct, frozen=True):
    """The rows of a fleet by table. A row replaces the row of gpuc with the same name."""

    instances: Mapping[str, InstanceType] = field(default_factory=dict)
    """Instance types by name."""
    images: Mapping[str, Image] = field(default_factory=dict)
    """Families of node images by id."""
    daemonsets: Mapping[str, Daemonset] = field(default_factory=dict)
    """DaemonSets by name."""
    prices: tuple[Price, ...] = ()
