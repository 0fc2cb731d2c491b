"""Whether it lives, whether it is ready, and how it does."""
