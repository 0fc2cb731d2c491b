"""Trials: points handed out by ask, results taken in by tell."""
