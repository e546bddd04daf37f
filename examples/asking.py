"""
Asking beats waiting
====================

Someone can label forty digits. Which forty? Labels of digits drawn at random are compared with
labels of those that ``ask`` asks about, four at a time.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from labelwalk import OnlineLearner

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(X))
X, y = X[order], y[order]
pool = 1000  # these pass first, without a label; the others are to be named at the end


def named_rightly(choose):
    learner = OnlineLearner(n_centroids=200, remember=2 * pool)
    learner.observe(X[:pool])
    shares = []
    for _ in range(10):
        for example_id in choose(learner):
            learner.teach_later(example_id, int(y[example_id]))
        shares.append(np.mean(learner.predict(X[pool:]).label == y[pool:]))
    return shares


def asked(learner):
    return [question.example_id for question in learner.ask(4)]


def at_random(seed):
    left = iter(np.random.default_rng(seed).permutation(pool).tolist())
    return lambda learner: [next(left) for _ in range(4)]


# %%
# Five draws at random, thin, and one run of asking.

n_labels = np.arange(4, 44, 4)
figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
for seed in range(5):
    line = axes.plot(n_labels, named_rightly(at_random(seed)), color="#D55E00", lw=0.8, alpha=0.7)
axes.plot(n_labels, named_rightly(asked), "o-", color="#0072B2", lw=2.5, label="asked for")
line[0].set_label("at random, five draws")
axes.set(xlabel="labels", ylabel=f"named rightly of {len(X) - pool} new digits", ylim=(0, 1))
axes.set_title("Labels that are asked for, and labels at random", loc="left")
axes.yaxis.set_major_formatter("{x:.0%}")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, loc="lower right")
plt.show()
