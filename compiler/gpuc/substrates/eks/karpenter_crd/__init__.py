"""The CustomResourceDefinitions of Karpenter, as a component."""
