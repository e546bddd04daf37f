"""A vertex enters, an edge changes: in everybody's degree and residuals, lists and components."""

from __future__ import annotations

from labelwalk.kernels.jit import compiled
from labelwalk.kernels.links import append_neighbour, join_components, update_neighbour
from labelwalk.kernels.system import STEPS, UNIT_ROUNDOFF, System, reweigh


@compiled
def attach(system: System, i: int, weight: float, sink: float) -> None:
    """Let vertex i enter after the first i vertices, its similarities to them standing in w[i].

    A free vertex takes its values from its own row, so that its residual is zero. The values of a
    clamped one are already in f.
    """
    w, v, f, r = system.w, system.v, system.f, system.r
    w[i, i] = 0.0
    v[i] = 0.0
    system.g[i] = sink
    system.component[i] = i
    system.has_label[i] = system.clamped[i]
    system.peak[i] = 0.0
    system.n_neighbours[i] = 0
    system.residual_dirty[i] = True
    inflow = r[:, i]
    for column in range(f.shape[0]):
        inflow[column] = 0.0
    degree = 0.0
    for j in range(i):
        w[j, i] = w[i, j]
        if w[i, j] > 0.0:
            append_neighbour(system, i, j)
            append_neighbour(system, j, i)
            join_components(system, i + 1, j, i)
            flow = w[i, j] * v[j]
            degree += flow
            for column in range(f.shape[0]):
                inflow[column] += flow * f[column, j]
    system.d[i] = degree
    for column in range(f.shape[0]):
        if not system.clamped[i]:
            f[column, i] = inflow[column] / (degree + sink)
        inflow[column] = 0.0
    if not system.clamped[i]:
        f[STEPS, i] += 1.0
    reweigh(system, i + 1, i, weight)


@compiled
def change_edge(system: System, n: int, i: int, j: int, similar: float) -> bool:
    """Let w_ij change, in everybody's degree and residuals; return whether an edge has gone."""
    w, v, g, d, f, r = system.w, system.v, system.g, system.d, system.f, system.r
    before = w[i, j]
    change = similar - before
    w[i, j] = similar
    w[j, i] = similar
    for a, b in ((i, j), (j, i)):
        total = d[a] + g[a]
        flow = change * v[b]
        d[a] = max(0.0, d[a] + flow)
        r[STEPS, a] += flow
        for column in range(f.shape[0]):
            r[column, a] += flow * (f[column, b] - f[column, a])
        if flow < 0.0:
            system.peak[a] = max(system.peak[a], total)
            system.drift[1] = max(system.drift[1], system.peak[a] / (d[a] + g[a]))
    system.drift[0] += 8 * UNIT_ROUNDOFF
    update_neighbour(system, n, i, j)
    update_neighbour(system, n, j, i)
    if before == 0.0:
        join_components(system, n, i, j)
    system.residual_dirty[i] = True
    system.residual_dirty[j] = True
    return similar == 0.0
