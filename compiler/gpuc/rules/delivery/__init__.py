"""Rules for the delivery of the output to the cluster by Argo CD."""
