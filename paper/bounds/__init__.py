"""Section 4 of the paper in numbers: both sides of each bound, and its conditions.

A function named like a statement computes what is proven here; where the printed statement differs,
`..._as_printed` computes that one. `docs/guide/bounds.md` compares them. Labels are ±1 in one
column, or one-hot rows; c_l = 1.
"""
