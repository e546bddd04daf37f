"""
Why this answer?
================

The point marked by a cross is nearer to the label of the lower moon, and belongs to the upper one.
``explain`` says which labels a random walk from there meets, how probably, and the most probable
way.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from labelwalk import Gaussian, OnlineLearner

X, _ = make_moons(600, noise=0.08, random_state=0)
labelled = np.array([[0.0, 1.0], [1.0, -0.5]])
learner = OnlineLearner(n_centroids=60, similarity=Gaussian(bandwidth=0.15))
learner.teach(labelled, ["upper", "lower"])
learner.observe(X)

x = np.array([0.9, 0.3])
explanation = learner.explain(x)
print(explanation)

# %%
# The grey discs are the vertices, as large as the number of points they stand for. The walk goes
# from one to a similar one.

vertices = learner.vertices
way = np.array([x, *(point.point for point in explanation.path)])

figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
axes.scatter(*vertices.means.T, s=12 * vertices.count, color="0.85", label="vertices")
axes.plot(*way.T, "o-", color="0.2", ms=4, label="most probable path")
axes.scatter(*x, s=120, marker="x", color="black", linewidths=2.5, zorder=3)
for place, name, colour in zip(labelled, learner.classes, ("#0072B2", "#D55E00"), strict=True):
    axes.scatter(*place, s=120, color=colour, edgecolors="black", zorder=3)
    met = sum(end.probability for end in explanation.met if end.label == name)
    axes.annotate(f"{name}: {met:.0%}", place, (-4, 12), textcoords="offset points", color=colour)
axes.set_title(f"Where a walk from the cross ends; no label: {explanation.sink:.1%}", loc="left")
axes.set_aspect("equal")
axes.set_axis_off()
axes.legend(frameon=False, loc="lower left", markerscale=0.5)
plt.show()
