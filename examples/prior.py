"""
When you know the shares
========================

Zeros and ones come three times as often as any other digit, and there are two labels of each digit.
With so few labels, one class easily takes what belongs to others. Say what share of the stream each
class has, and those that take more are marked down. Say something untrue, and the wrong ones are.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from labelwalk import OnlineLearner

X, y = load_digits(return_X_y=True)


def named_rightly(seed):
    sample = np.random.default_rng(seed).random(len(X)) < np.where(y < 2, 1.0, 0.3)
    order = np.random.default_rng(seed).permutation(np.flatnonzero(sample))
    rows, truth = X[order], y[order]
    taught = np.sort(np.concatenate([np.flatnonzero(truth == digit)[:2] for digit in range(10)]))
    passing = np.setdiff1d(np.arange(len(truth)), taught)
    shares = {digit: float(np.mean(truth == digit)) for digit in range(10)}
    accuracies = []
    for prior in ("uniform", None, shares):
        learner = OnlineLearner(n_centroids=100, prior=prior)
        learner.teach(rows[taught], truth[taught])
        accuracies.append(np.mean(learner.observe(rows[passing]).label == truth[passing]))
    return accuracies


# %%
# Five streams, each with other labels.

runs = np.array([named_rightly(seed) for seed in range(5)])
names = ("prior='uniform'\nwhich is not true", "prior=None", "prior=shares\nthe true ones")

figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
axes.plot(runs.T, "o-", color="0.8", ms=4)
axes.plot(runs.mean(axis=0), "o", color="#0072B2", ms=11)
for place, share in enumerate(runs.mean(axis=0)):
    axes.annotate(f"{share:.0%}", (place, share), (14, -4), textcoords="offset points")
axes.set_xticks(range(3), names)
axes.set(ylabel="digits named rightly", xlim=(-0.4, 2.4))
axes.set_title("A true prior helps, an untrue one harms; grey: one stream", loc="left")
axes.set_yticks(np.arange(0.7, 0.91, 0.05))
axes.yaxis.set_major_formatter("{x:.0%}")
axes.spines[["top", "right"]].set_visible(False)
plt.show()
