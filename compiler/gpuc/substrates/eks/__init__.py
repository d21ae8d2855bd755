"""EKS with Karpenter."""
