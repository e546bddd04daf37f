"""The state of a learner, and all functions that change it."""
