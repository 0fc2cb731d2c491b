"""What is kept of asks: the chain that the next one continues, and how each was made."""
