"""Shared GPUs: who shares with whom, and how finely."""
