"""What the model expects at points, in total and factor by factor."""
