"""The figures and statements of the paper, rerun beside other methods: `python -m paper --help`.

This package uses the public API of labelwalk. It is part of the repository and not of the wheel;
run it from the root of the repository.
"""
