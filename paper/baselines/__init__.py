"""The methods the learner is compared with, one file each, all with the same small interface.

`teach(X, labels)` gives labelled examples, `observe(X)` answers the rows of a stream and returns
`Said`: a label, or None, and a confidence for each row. Where `online` is True each row is answered
from what came before it; where it is False the rows of one call are seen together before any of
them is answered, and the first call is the only one.
"""
