"""`python -m gpuc.catalog` compares every row with its record, prints each wrong key, and exits with 1."""

from __future__ import annotations

import sys

from gpuc.catalog.rows import errors

sys.exit("\n".join(errors()) or None)
