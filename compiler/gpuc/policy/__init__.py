"""The admission policies: those that come with gpuc, and those of a fleet."""
