"""Shared GPUs: tenants on one GPU, and the number of shares."""
