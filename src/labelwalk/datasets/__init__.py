"""Data to learn from: real streams, and manifolds made from a seed."""
