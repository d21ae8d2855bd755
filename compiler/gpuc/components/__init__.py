"""Components: a folder for each Helm chart that gpuc configures, with everything that gpuc knows about the chart."""
