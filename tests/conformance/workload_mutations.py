"""Mutations of correct workloads. A cluster refuses most of the results; the real programs decide which ones."""

from __future__ import annotations

from tests.conformance.workload_drafts import Mutation
from tests.conformance.workload_mutations_fields import FIELDS
from tests.conformance.workload_mutations_queue import QUEUE
from tests.conformance.workload_mutations_resources import RESOURCES
from tests.conformance.workload_mutations_security import SECURITY

MUTATIONS: dict[str, Mutation] = {**SECURITY, **FIELDS, **RESOURCES, **QUEUE}
"""The mutations by name."""
