"""Classes for the prices of instance types, from gpuc or from a fleet.

Prices are not fields of an instance type: a price has a region, a purchase option and a date, and changes more often
than the properties of the type.
"""

from msgspec import Struct

from gpuc.catalog.records import Purchase, Sources


class Price(Struct, frozen=True):
    """The price of one instance for one hour, for Linux and shared tenancy."""

    instance_type: str
    region: str
    purchase: Purchase
    hourly_usd: float
    date: str
    """The day on which the price was valid, as 2026-07-20."""
    source: str


class FamilyPrices(Struct, frozen=True):
    """On-demand prices of the instance types of one family in one region."""

    family: str
    region: str
    date: str
    sizes: tuple[str, ...]
    hourly_usd: tuple[float, ...]
    """USD per hour, by size."""
    source: Sources
