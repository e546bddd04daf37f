"""Class prior: biases under which the classes take their shares of all examples."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.kernels.compiled import compiled
from labelwalk.kernels.cover import UNLABELLED, Vertices
from labelwalk.kernels.system import STEPS, System

ROUNDS = 8
LARGEST_BIAS = 1e6


@compiled
def class_mass(vertices: Vertices, system: System, n: int, mass: Floats) -> None:
    """Write how many unlabelled examples each class has, every vertex shared among classes."""
    bias, f = system.bias, system.f
    for c in range(mass.shape[0]):
        mass[c] = 0.0
    for i in range(n):
        total = 0.0
        for c in range(mass.shape[0]):
            total += bias[1 + c] * f[STEPS + 1 + c, i]
        if vertices.label[i] == UNLABELLED and total > 0.0:
            for c in range(mass.shape[0]):
                share = bias[1 + c] * f[STEPS + 1 + c, i] / total
                mass[c] += vertices.examples[i] * share


@compiled
def balance(vertices: Vertices, system: System, n: int, shares: Floats) -> None:
    """Move the biases so that class masses come closer to their shares of all.

    Iterative proportional fitting; one example more a class keeps an empty class finite. Class
    mass normalisation is its first round. Nothing moves where there is no mass at all.
    """
    mass = np.empty(shares.shape[0])
    for _ in range(ROUNDS):
        class_mass(vertices, system, n, mass)
        total = 0.0
        for c in range(mass.shape[0]):
            total += mass[c]
        if total == 0.0:
            return
        largest = 0.0
        for c in range(mass.shape[0]):
            wanted = shares[c] * (total + mass.shape[0])
            system.bias[1 + c] *= wanted / (mass[c] + 1.0)
            largest = max(largest, system.bias[1 + c])
        for c in range(mass.shape[0]):
            system.bias[1 + c] = max(system.bias[1 + c] / largest, 1.0 / LARGEST_BIAS)
