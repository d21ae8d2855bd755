"""Rules for shared GPUs: tenants on one GPU, and the number of shares."""
