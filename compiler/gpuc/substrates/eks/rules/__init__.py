"""Rules about clusters on EKS."""
