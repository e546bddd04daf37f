"""
Outliers wait outside
=====================

In the middle of the stream come 120 points from anywhere. By default a far point is answered with
``None`` and waits in quarantine until the fifth of its kind comes. With ``quarantine=1`` each of
them becomes a vertex at once. They crowd out the others, and the moons are lost.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from labelwalk import Gaussian, OnlineLearner

X, moon = make_moons(1200, noise=0.08, random_state=0)
far = np.random.default_rng(1).uniform(-40, 40, (120, 2))


def after_the_outliers(quarantine):
    learner = OnlineLearner(60, similarity=Gaussian(bandwidth=0.15), quarantine=quarantine)
    learner.teach([[0.0, 1.0], [1.0, -0.5]], [0, 1])
    learner.observe(X[:600])
    learner.observe(far)
    right = learner.observe(X[600:]).label == moon[600:]
    return learner, right.mean()


# %%
# The vertices at the end, on the whole plane and around the moons.

figure, frames = plt.subplots(2, 2, figsize=(9, 6.5), layout="constrained")
for column, quarantine in enumerate((1, 5)):
    learner, share = after_the_outliers(quarantine)
    vertices = learner.vertices.means
    for frame in frames[:, column]:
        frame.scatter(*far.T, s=8, color="#D55E00", label="outliers")
        frame.scatter(*vertices.T, s=26, color="#0072B2", label="vertices")
        frame.set_aspect("equal")
        frame.set(xticks=[], yticks=[])
    frames[0, column].set_title(f"quarantine={quarantine}: {share:.0%} named rightly afterwards")
    frames[1, column].scatter(*X.T, s=3, color="0.8", zorder=0, label="the stream")
    frames[1, column].set(xlim=(-1.5, 2.5), ylim=(-1, 1.5))
frames[1, 1].legend(frameon=False, loc="lower left", fontsize=8)
plt.show()
