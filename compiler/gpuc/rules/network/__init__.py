"""Networks: who enforces isolation, and address ranges that would undo it."""
