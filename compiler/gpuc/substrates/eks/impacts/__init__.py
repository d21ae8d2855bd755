"""What a change does to nodes of Karpenter."""
