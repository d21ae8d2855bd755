"""Rules for the section `delivery` of the spec: how Argo CD brings the output to the cluster."""
