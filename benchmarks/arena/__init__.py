"""The arena: one run, many runs in parallel, their records, and what they say together."""
