"""The stages of a compile, one after another, and what is kept from one run to the next."""
