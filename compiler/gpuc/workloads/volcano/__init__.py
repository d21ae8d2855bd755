"""Jobs of Volcano."""
