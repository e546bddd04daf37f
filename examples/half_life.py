"""
Room after room
===============

A camera is carried through eight rooms. In each there are two moons, a label for either, and 600
points. Sixty vertices are enough for one room. Without forgetting they are spread over all eight;
with ``half_life=150`` they are where the camera is.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from labelwalk import Gaussian, OnlineLearner

rooms = 8
labelled = np.array([[0.0, 1.0], [1.0, -0.5]])


def carried_through(half_life):
    learner = OnlineLearner(60, similarity=Gaussian(bandwidth=0.15), half_life=half_life)
    right = []
    for room in range(rooms):
        X, moon = make_moons(600, noise=0.08, random_state=room)
        there = np.array([4.0 * room, 0.0])
        learner.teach(labelled + there, [0, 1])
        right.append(np.mean(learner.observe(X + there).label == moon))
    return learner, right


# %%
# Above each room stands the share of its points that was named rightly, each at its own step.

figure, frames = plt.subplots(2, 1, figsize=(9, 3.4), layout="constrained")
for frame, half_life in zip(frames, (None, 150), strict=True):
    learner, right = carried_through(half_life)
    vertices = learner.vertices
    taught = np.array([label is not None for label in vertices.label])
    frame.scatter(*vertices.means[~taught].T, s=22, color="#0072B2", label="vertices")
    frame.scatter(*vertices.means[taught].T, s=22, color="#D55E00", label="labels, which stay")
    for room, share in enumerate(right):
        frame.text(4.0 * room + 0.5, 1.7, f"{share:.0%}", ha="center")
    frame.set_title(f"half_life={half_life}", loc="left", fontsize=11)
    frame.set(xlim=(-1.5, 4.0 * rooms - 1), ylim=(-1.2, 2.3), aspect="equal")
    frame.set_axis_off()
frames[0].legend(frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
plt.show()
