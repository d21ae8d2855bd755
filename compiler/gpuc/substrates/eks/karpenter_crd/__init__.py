"""The component that installs the CustomResourceDefinitions of Karpenter, which are in a chart of their own."""
