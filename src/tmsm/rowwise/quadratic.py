"""Row functions and stages of families of degree one and two, `tmsm.models.row_form`, that meet any border and weight.

With J the derivative of the statistics by the coordinates L, which is affine in L, and their gradients, a row has

    A_i = J Q Jᵀ,    b_i = J k + 2 ⟨F, Q⟩,    Q = ⟨∇L, W ∇L⟩,    k = ⟨W, Hess L⟩ + ⟨div W, ∇L⟩,

F the matrix of a statistic LᵀFL.  So their sums are those of Q and k times monomials of L, and a residual J (Q σ + k) +
2 ⟨F, Q⟩, σ = Jᵀθ, is made of e = Q σ + k and L eᵀ + e Lᵀ + 2 Q.
"""

from __future__ import annotations

from tmsm.foundation.compiled import LOOP, STAGE, compiled
from tmsm.rowwise.stages import gram_stage

__all__ = [
    "chart_row",
    "chart_stage",
    "form_row",
    "form_stage",
    "moment_stage",
    "product_row",
    "product_stage",
    "residual_stage",
    "square_stage",
    "turn_row",
    "turn_stage",
]


@compiled(inline="always")
def turn_row(x, y, z, rotation):  # type: ignore[no-untyped-def]
    """A vector turned by a matrix."""
    return (
        rotation[0, 0] * x + rotation[0, 1] * y + rotation[0, 2] * z,
        rotation[1, 0] * x + rotation[1, 1] * y + rotation[1, 2] * z,
        rotation[2, 0] * x + rotation[2, 1] * y + rotation[2, 2] * z,
    )


@compiled(inline="always")
def chart_row(x, y, z, t, r, half):  # type: ignore[no-untyped-def]
    """The coordinates L; the third by a length where it is one, which keeps its digits near the centre."""
    third = half * (x * x + y * y + (1.0 - z) * (1.0 - z)) if half > 0.0 else r * z
    return t * x, t * y, third


@compiled(inline="always")
def form_row(x, y, z, u, v, w, t, r, a, c, delta):  # type: ignore[no-untyped-def]
    """The upper triangle of Q, row by row, and k, of a row with W = a P + c ννᵀ, div W = δ ν and ν = (u, v, w)."""
    n1, n2, n3 = t * u, t * v, r * w
    k1, k2, k3 = -t * x, -t * y, -r * z
    c1, c2, c3 = c * n1, c * n2, c * n3
    bend = 2.0 * a + c
    return (
        a * (t * t - k1 * k1) + c1 * n1,
        c1 * n2 - a * k1 * k2,
        c1 * n3 - a * k1 * k3,
        a * (t * t - k2 * k2) + c2 * n2,
        c2 * n3 - a * k2 * k3,
        a * r * r * (x * x + y * y) + c3 * n3,
        delta * n1 + bend * k1,
        delta * n2 + bend * k2,
        delta * n3 + bend * k3,
    )


@compiled(inline="always")
def product_row(q0, q1, q2, q3, q4, q5, k0, k1, k2, p, q, r, f, g, h, twice):  # type: ignore[no-untyped-def]
    """The nine numbers of a residual: e = Q σ + k, σ = (f, g, h), and the upper triangle of L eᵀ + e Lᵀ + twice Q."""
    x, y, z = q0 * f + q1 * g + q2 * h + k0, q1 * f + q3 * g + q4 * h + k1, q2 * f + q4 * g + q5 * h + k2
    return (
        x,
        y,
        z,
        2.0 * p * x + twice * q0,
        p * y + q * x + twice * q1,
        p * z + r * x + twice * q2,
        2.0 * q * y + twice * q3,
        q * z + r * y + twice * q4,
        2.0 * r * z + twice * q5,
    )


@compiled(**STAGE)
def turn_stage(x, y, z, rotation, m, p, q, r):  # type: ignore[no-untyped-def]
    """Turn vectors."""
    for i in range(m):
        p[i], q[i], r[i] = turn_row(x[i], y[i], z[i], rotation)


@compiled(**STAGE)
def chart_stage(rows, m, factors, monomials):  # type: ignore[no-untyped-def]
    """The monomials 1, L and L_i L_j, i ≤ j, row by row, shape (10, ·)."""
    x, y, z, t, r, half = rows[0], rows[1], rows[2], factors[0], factors[1], factors[2]
    one, p, q, s = monomials[0], monomials[1], monomials[2], monomials[3]
    for i in range(m):
        one[i] = 1.0
        p[i], q[i], s[i] = chart_row(x[i], y[i], z[i], t, r, half)
    at = 4
    for j in range(1, 4):
        for k in range(j, 4):
            one, other, product = monomials[j], monomials[k], monomials[at]
            for i in range(m):
                product[i] = one[i] * other[i]
            at += 1


@compiled(**STAGE)
def form_stage(rows, a, c, delta, s, m, factors, Q, k):  # type: ignore[no-untyped-def]
    """Q (6, ·) and k (3, ·), times the weights of the rows, which are points and ν, shape (6, ·)."""
    x, y, z, u, v, w = rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]
    t, r = factors[0], factors[1]
    q0, q1, q2, q3, q4, q5, k0, k1, k2 = Q[0], Q[1], Q[2], Q[3], Q[4], Q[5], k[0], k[1], k[2]
    for i in range(m):
        q0[i], q1[i], q2[i], q3[i], q4[i], q5[i], k0[i], k1[i], k2[i] = form_row(
            x[i], y[i], z[i], u[i], v[i], w[i], t, r, s[i] * a[i], s[i] * c[i], s[i] * delta[i]
        )


@compiled(**STAGE)
def product_stage(rows, others, m, out):  # type: ignore[no-untyped-def]
    """Add the products of rows of one array with those of another."""
    at = 0
    for i in range(len(rows)):
        e = rows[i]
        for j in range(len(others)):
            f = others[j]
            total = 0.0
            for k in range(m):
                total += e[k] * f[k]
            out[at] += total
            at += 1


@compiled(**LOOP)
def moment_stage(Q, k, monomials, m, out):  # type: ignore[no-untyped-def]
    """Add the sums of A and b: Q times the monomials (6, 10), and k times the first four of them (3, 4)."""
    product_stage(Q, monomials, m, out)
    product_stage(k, monomials[:4], m, out[60:])


@compiled(**STAGE)
def residual_stage(Q, k, monomials, m, slopes, e):  # type: ignore[no-untyped-def]
    """The nine numbers of a residual, shape (9, ·), at the θ with these slopes."""
    p, q, r = monomials[1], monomials[2], monomials[3]
    a0, a1, a2, a3 = slopes[0, 0], slopes[0, 1], slopes[0, 2], slopes[0, 3]
    b0, b1, b2, b3 = slopes[1, 0], slopes[1, 1], slopes[1, 2], slopes[1, 3]
    c0, c1, c2, c3 = slopes[2, 0], slopes[2, 1], slopes[2, 2], slopes[2, 3]
    q0, q1, q2, q3, q4, q5, k0, k1, k2 = Q[0], Q[1], Q[2], Q[3], Q[4], Q[5], k[0], k[1], k[2]
    e0, e1, e2, e3, e4, e5, e6, e7, e8 = e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7], e[8]
    for i in range(m):
        f = a0 + a1 * p[i] + a2 * q[i] + a3 * r[i]
        g = b0 + b1 * p[i] + b2 * q[i] + b3 * r[i]
        h = c0 + c1 * p[i] + c2 * q[i] + c3 * r[i]
        e0[i], e1[i], e2[i], e3[i], e4[i], e5[i], e6[i], e7[i], e8[i] = product_row(
            q0[i], q1[i], q2[i], q3[i], q4[i], q5[i], k0[i], k1[i], k2[i], p[i], q[i], r[i], f, g, h, 2.0
        )


@compiled(**LOOP)
def square_stage(Q, k, monomials, m, slopes, e, out):  # type: ignore[no-untyped-def]
    """Add the products of each two of those nine numbers."""
    residual_stage(Q, k, monomials, m, slopes, e)
    gram_stage(e, m, out)
