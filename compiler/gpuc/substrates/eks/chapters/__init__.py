"""Chapters of the cluster's README: what a cluster on EKS needs from AWS."""

from pathlib import Path as File

from gpuc.diagnostics.finding import Path

HERE = File(__file__).parent
"""The folder of the tables and texts of the chapters."""
AWS: Path = ("spec", "cloud", "aws")
"""The section of the spec."""
