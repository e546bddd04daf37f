"""Reference implementations, written from the paper. They import nothing of labelwalk."""
