"""Section 4 of the paper in numbers: both sides of each bound, and its conditions.

Functions named like a statement compute what is proven here; where the printed statement differs,
``..._as_printed`` computes that one. `docs/guide/bounds.md` says which bound covers what.
"""
