"""The compiled loops: plain functions on arrays, one idea a file."""
