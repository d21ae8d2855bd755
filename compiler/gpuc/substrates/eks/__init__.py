"""The substrate `eks`: clusters on Amazon EKS, whose nodes the autoscaler Karpenter starts and ends."""
