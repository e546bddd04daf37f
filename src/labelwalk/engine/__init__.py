"""What a learner has learned, and every way it changes."""
