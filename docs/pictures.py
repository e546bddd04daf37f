"""Draw the pictures of the tutorial, into docs/images or the folder given: docs/pictures.py."""

import sys
from pathlib import Path

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from labelwalk import Gaussian, OnlineLearner

COLOURS = {"upper": "#0072B2", "lower": "#D55E00", "star": "#009E73", None: "0.6"}
FAINTEST = 0.02  # similarity of an edge that is drawn
N_MOONS = 600


def draw(title, learner, X, truth, said, path):
    """Draw points by the answer each got at its step, and the graph of the vertices."""
    top = 1.25 if len(X) <= N_MOONS else 1.8
    figure = Figure(figsize=(8, 2.2 + 1.8 * top), dpi=110, layout="constrained")
    axes = figure.add_subplot(aspect="equal", xlim=(-1.5, 2.9), ylim=(-0.9, top))
    vertices, sigma = learner.vertices, learner.bandwidth
    apart = np.linalg.norm(vertices.means[:, None] - vertices.means, axis=2)
    similar = np.exp(-((apart / sigma) ** 2) / 2)
    pairs = np.argwhere(np.triu(similar, 1) > FAINTEST)
    shades = [(0.2, 0.2, 0.2, similar[i, j] ** 0.5) for i, j in pairs]
    axes.add_collection(LineCollection(vertices.means[pairs], colors=shades, linewidths=1.2))
    wrong = said != truth
    hues = np.array([COLOURS[label] for label in said])
    axes.scatter(*X[~wrong].T, s=10, c=hues[~wrong])
    axes.scatter(*X[wrong].T, s=45, c=hues[wrong], marker="x", linewidths=1.8)
    axes.scatter(*vertices.means.T, s=30 + 6 * vertices.count, facecolors="none", edgecolors="0.3")
    for label, colour in COLOURS.items():
        taught = vertices.means[[label is not None and label == name for name in vertices.label]]
        axes.scatter(*taught.T, s=150, color=colour, edgecolors="black", linewidths=1.5, zorder=3)
    axes.set_title(title, loc="left")
    axes.set_axis_off()
    figure.savefig(path)


def main(folder):
    """Tell the story of the tutorial, and draw it at six moments."""
    X, y = make_moons(N_MOONS, noise=0.08, random_state=0)
    truth = np.array(["upper", "lower"], dtype=object)[y]
    star = np.random.default_rng(1).normal([2.5, 1.5], 0.06, (40, 2))
    learner = OnlineLearner(n_centroids=60, similarity=Gaussian(bandwidth=0.15))
    learner.teach([[0.0, 1.0], [1.0, -0.5]], ["upper", "lower"])
    said = np.empty(0, dtype=object)
    for n in (0, 20, 100, N_MOONS):
        if n:
            said = np.append(said, learner.observe(X[len(said) : n]).label)
        seen = f"{n} points, {learner.n_vertices} vertices" if n else "Two labels, and nothing else"
        draw(seen, learner, X[:n], truth[:n], said, folder / f"moons-{n}.png")

    X, truth = np.concatenate([X, star]), np.append(truth, ["star"] * len(star))
    learner.observe([2.5, 1.5])
    said = np.append(said, learner.observe(star).label)
    draw("Something new: 40 points", learner, X, truth, said, folder / "moons-new.png")
    learner.teach_later(learner.ask()[0].example_id, "star")
    said = learner.predict(X).label
    draw("One late label, all asked again", learner, X, truth, said, folder / "moons-late.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "images"))
