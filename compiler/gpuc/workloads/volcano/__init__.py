"""The kind Job of Volcano."""
