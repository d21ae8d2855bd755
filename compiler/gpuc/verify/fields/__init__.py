"""Fields, values, quantities and metadata of single objects, as strictly as their kind's schema."""
