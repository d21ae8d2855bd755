"""`python -m gpuc.catalog` compares each row with its record type. It exits with 1 if it prints an error."""

from __future__ import annotations

import sys

from gpuc.catalog.rows import errors

sys.exit("\n".join(errors()) or None)
