"""
I don't know
============

Forty labels, and 1757 handwritten digits to name. Whoever answers only where it is confident is
right more often, and names fewer.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from labelwalk import OnlineLearner
from labelwalk.baselines.nearest import NearestLabel
from labelwalk.evaluation import accuracy, confidence_curve, evaluate, labels_first

stream = labels_first(*load_digits(return_X_y=True), per_class=4, seed=0)
ours = evaluate(OnlineLearner(n_centroids=500), stream)
nearest = accuracy(evaluate(NearestLabel(), stream))

# %%
# Every answer carries a confidence, and ``abstain_below`` withholds those below it. All floors at
# once, after the fact:

floors = np.arange(0.0, 1.0, 0.01)
curve = confidence_curve(ours, floors)
precision, recall = [p.precision for p in curve], [p.recall for p in curve]

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
