"""Derives the tables of the catalog from files of the upstream projects. Only maintainers run these modules."""
