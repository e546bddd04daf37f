"""Literal twins of the fast code, written from the paper's text; they import nothing of ours."""
