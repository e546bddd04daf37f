"""Learners that outlive their process: a journal of all that happened, and a server before it."""
