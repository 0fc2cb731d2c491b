"""The additive structure that was found or given: samples, co-occurrence, and how they came to be."""
