"""The dashboard: one page and its modules, served as they lie here, and nothing that only they can ask for."""
