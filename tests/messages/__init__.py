"""Wrong specs, and the answer of `gpuc check` to each of them."""
