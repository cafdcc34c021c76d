"""What the model could do before and must still do. These modules need torch; the rest of `evaluate` does not."""
