"""The methods that the learner is compared with.

Each has `teach(X, labels)` for labelled rows and `observe(X)`, which answers the rows of a stream
with `Predictions`. With `online = True` a row is answered from the rows before it. With
`online = False` all rows of the only call are used for every answer. Rows are trusted: arrays of
finite numbers, with as many labels as rows. `paper.evaluation.evaluate` runs them on one BLAS
thread.
"""
