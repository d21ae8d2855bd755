"""MIG: strategies, and what slices cannot do."""
