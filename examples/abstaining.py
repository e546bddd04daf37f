"""
I don't know
============

Forty labels, and 1757 handwritten digits to name. Whoever answers only where it is confident is
right more often, and names fewer.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from labelwalk import OnlineLearner

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
X, y = X[order], y[order]
taught = np.sort(np.concatenate([np.flatnonzero(y == digit)[:4] for digit in range(10)]))
passing = np.setdiff1d(np.arange(len(y)), taught)

learner = OnlineLearner(n_centroids=500)
learner.teach(X[taught], y[taught])
verdicts = learner.observe(X[passing])
correct = verdicts.label == y[passing]
nearest = KNeighborsClassifier(1).fit(X[taught], y[taught]).score(X[passing], y[passing])

# %%
# Every answer carries a confidence, and ``abstain_below`` withholds those below it. All floors at
# once, after the fact:

floors = np.arange(0.0, 1.0, 0.01)
answered = [(verdicts.label != None) & (verdicts.confidence >= floor) for floor in floors]  # noqa: E711
precision = [correct[rows].mean() for rows in answered]
recall = [correct[rows].sum() / len(correct) for rows in answered]

figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
axes.plot(recall, precision, color="#0072B2", lw=2.5, label="labelwalk")
for floor in (0, 50, 90):
    place = recall[floor], precision[floor]
    axes.plot(*place, "o", color="#0072B2")
    axes.annotate(f"abstain_below={floor / 100}", place, (-130, -14), textcoords="offset points")
axes.plot(nearest, nearest, "s", color="#D55E00", label="the nearest label, always answering")
axes.set(xlabel="recall: rightly named, of all", ylabel="precision: rightly named, of those named")
axes.set_title("What is given up for being right more often", loc="left")
axes.set_yticks(np.arange(0.8, 1.01, 0.05))
axes.xaxis.set_major_formatter("{x:.0%}")
axes.yaxis.set_major_formatter("{x:.0%}")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, loc="lower left")
plt.show()
