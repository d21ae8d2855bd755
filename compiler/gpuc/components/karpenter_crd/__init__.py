"""CRDs of Karpenter."""
