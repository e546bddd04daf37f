"""
Two moons over time
===================

Two labels, and points that nobody labels. Each of them fills in the shape of its moon, and the
label travels along. Blue and orange are the answers on the whole plane; the paler, the less
confident. White: nothing known is similar, and the learner says nothing.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from sklearn.datasets import make_moons

from labelwalk import Gaussian, OnlineLearner

X, moon = make_moons(600, noise=0.08, random_state=0)
labelled = np.array([[0.0, 1.0], [1.0, -0.5]])
learner = OnlineLearner(n_centroids=60, similarity=Gaussian(bandwidth=0.15))
learner.teach(labelled, [0, 1])

# %%
# A colour for every place of the plane: `predict` asks without learning.

colours = np.array([to_rgb("#0072B2"), to_rgb("#D55E00")])
across, up = np.meshgrid(np.linspace(-1.6, 2.6, 120), np.linspace(-1.1, 1.6, 80))
plane = np.column_stack([across.ravel(), up.ravel()])


def answers():
    verdicts = learner.predict(plane)
    strength = np.where(verdicts.outlier, 0.0, verdicts.confidence)[:, None]
    hue = colours[verdicts.probabilities.argmax(axis=1)]
    return (1 - 0.7 * strength * (1 - hue)).reshape(*across.shape, 3)


# %%
# Four looks at it: after the labels alone, and after 20, 100 and 600 points.

figure, frames = plt.subplots(2, 2, figsize=(9, 6), layout="constrained")
seen = 0
for frame, n in zip(frames.flat, (0, 20, 100, 600), strict=True):
    right = learner.observe(X[seen:n]).label == moon[seen:n] if n else np.empty(0)
    seen = n
    frame.imshow(answers(), origin="lower", extent=(-1.6, 2.6, -1.1, 1.6))
    frame.scatter(*X[:n].T, s=4, color="0.25")
    frame.scatter(*labelled.T, s=90, c=colours, edgecolors="black", linewidths=1.5)
    said = f", {right.mean():.0%} of the new ones named rightly" if n else ""
    frame.set_title(f"{n} points{said}", fontsize=10, loc="left")
    frame.set_axis_off()
plt.show()
