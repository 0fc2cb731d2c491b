"""How long an ask takes: histories to ask on, the measurement, and what is to be reached."""
