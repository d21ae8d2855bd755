"""The types of the parts of gpuc, and their registries: each part gives one record, and engines read all records."""
