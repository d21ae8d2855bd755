"""Functions that compute what Kubernetes, Kueue and Karpenter do, for example with quantities, selectors and quotas."""
