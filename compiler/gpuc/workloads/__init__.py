"""The kinds of workloads: a folder for each project, with what gpuc knows about its kinds and how it validates them."""
