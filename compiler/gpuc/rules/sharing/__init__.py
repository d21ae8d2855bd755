"""Rules for shared GPUs: several tenants on one GPU, and the number of shares of a GPU."""
