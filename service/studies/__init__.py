"""Studies: what is optimized, and how it goes."""
