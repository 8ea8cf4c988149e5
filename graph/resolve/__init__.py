"""Names to entities: which are one, why, and what people decided of it."""
