"""Components: a folder for each Helm chart that gpuc installs, with everything that gpuc knows about it."""
