"""Row functions of stacked equations: weights, coordinates, polynomials and equations of one row.

A row's equation is ⟨V, θ⟩ + div V with a tangent vector V (`tmsm.matching.stacked` has the fields).  Polynomials h of
u₁, u₂ come as h, ∂h/∂u₁, ∂h/∂u₂ and Δh, by degree, u₁ first.
"""

from __future__ import annotations

from tmsm.foundation.compiled import compiled
from tmsm.rowwise.functions import saturating_row
from tmsm.rowwise.kinds import FIELDS
from tmsm.rowwise.quadratic import form_row, product_row

__all__ = [
    "contraction_row",
    "coordinate_row",
    "cube_rows",
    "equation_rows",
    "form_equation_rows",
    "gradient_row",
    "monomial_rows",
    "polynomial_rows",
    "square_rows",
    "statistic_row",
    "stream_row",
    "weight_rows",
]

_STATISTICS, _GRADIENTS = FIELDS.index("statistics"), FIELDS.index("gradients")


@compiled(inline="always")
def coordinate_row(x, y, z, a, b, c, origin):  # type: ignore[no-untyped-def]
    """The coordinate u = ⟨(a, b, c), x⟩ − origin, its Laplacian and its tangent gradient."""
    along = a * x + b * y + c * z
    return along - origin, -2.0 * along, a - along * x, b - along * y, c - along * z


@compiled(inline="always")
def square_rows(s, t, ds, dt, ss, st, tt):  # type: ignore[no-untyped-def]
    """The monomials of degree two at (s, t), with Laplacians ds, dt and products ss, st, tt of the gradients."""
    return (
        (s * s, 2.0 * s, 0.0, 2.0 * (s * ds + ss)),
        (s * t, t, s, t * ds + s * dt + 2.0 * st),
        (t * t, 0.0, 2.0 * t, 2.0 * (t * dt + tt)),
    )


@compiled(inline="always")
def cube_rows(s, t, ds, dt, ss, st, tt):  # type: ignore[no-untyped-def]
    """Those of degree three."""
    return (
        (s * s * s, 3.0 * s * s, 0.0, 3.0 * s * s * ds + 6.0 * s * ss),
        (s * s * t, 2.0 * s * t, s * s, 2.0 * s * t * ds + s * s * dt + 2.0 * t * ss + 4.0 * s * st),
        (s * t * t, t * t, 2.0 * s * t, t * t * ds + 2.0 * s * t * dt + 4.0 * t * st + 2.0 * s * tt),
        (t * t * t, 0.0, 3.0 * t * t, 3.0 * t * t * dt + 6.0 * t * tt),
    )


@compiled(inline="always")
def statistic_row(own, along, twice, p, g, push):  # type: ignore[no-untyped-def]
    """One of the three entries of g (ψ − 2x) + ∇g: own is that of x, p that of θ, push that of ∇g, twice is two."""
    return g * (p - (along + twice) * own) + push


@compiled(inline="always")
def gradient_row(g, slope, h1, h2, laplacian, a, b, p, q):  # type: ignore[no-untyped-def]
    """One g ⟨∇h, ψ⟩ + g Δh + ⟨∇g, ∇h⟩, with a, b = ⟨∇u_j, ψ⟩ and p, q = ⟨∇u_j, ν⟩."""
    return g * (h1 * a + h2 * b + laplacian) + slope * (h1 * p + h2 * q)


@compiled(inline="always")
def stream_row(g, slope, h, h1, h2, a, b, side):  # type: ignore[no-untyped-def]
    """−⟨g ∇h + h ∇g, Jψ⟩, with a, b = ⟨∇u_j, Jψ⟩ and side = ⟨ν, Jψ⟩."""
    return -(g * (h1 * a + h2 * b) + slope * h * side)


@compiled(inline="always")
def weight_rows(d, scales, g, slope):  # type: ignore[no-untyped-def]
    """Put the weight at each scale, and its slope, into arrays (q,)."""
    for k in range(len(scales)):
        g[k], slope[k] = saturating_row(d, 1.0 / scales[k])


@compiled(inline="always")
def monomial_rows(x, y, z, center, axes, count, near, h):  # type: ignore[no-untyped-def]
    """Put the gradients of u₁ and u₂ into an array (6,), and so many monomials into another (count, 4)."""
    a, b, c = axes[0, 0], axes[0, 1], axes[0, 2]
    s, ds, near[0], near[1], near[2] = coordinate_row(x, y, z, a, b, c, a * center[0] + b * center[1] + c * center[2])
    a, b, c = axes[1, 0], axes[1, 1], axes[1, 2]
    t, dt, near[3], near[4], near[5] = coordinate_row(x, y, z, a, b, c, a * center[0] + b * center[1] + c * center[2])
    ss = near[0] * near[0] + near[1] * near[1] + near[2] * near[2]
    st = near[0] * near[3] + near[1] * near[4] + near[2] * near[5]
    tt = near[3] * near[3] + near[4] * near[4] + near[5] * near[5]
    h[0, 0], h[0, 1], h[0, 2], h[0, 3] = 1.0, 0.0, 0.0, 0.0
    if count > 1:
        h[1, 0], h[1, 1], h[1, 2], h[1, 3] = s, 1.0, 0.0, ds
        h[2, 0], h[2, 1], h[2, 2], h[2, 3] = t, 0.0, 1.0, dt
    if count > 3:
        squares = square_rows(s, t, ds, dt, ss, st, tt)
        for k in range(3):
            h[3 + k, 0], h[3 + k, 1], h[3 + k, 2], h[3 + k, 3] = squares[k]
    if count > 6:
        cubes = cube_rows(s, t, ds, dt, ss, st, tt)
        for k in range(4):
            h[6 + k, 0], h[6 + k, 1], h[6 + k, 2], h[6 + k, 3] = cubes[k]


@compiled(inline="always")
def contraction_row(x, y, z, u, v, w, near, p, q, r, known):  # type: ignore[no-untyped-def]
    """What the equations of polynomials need of ψ = (p, q, r) and of ν: ⟨∇u_j, ·⟩ of ψ, Jψ and known ν, and ⟨ν, Jψ⟩."""
    fx, fy, fz = y * r - z * q, z * p - x * r, x * q - y * p  # Jψ = x × ψ
    return (
        near[0] * p + near[1] * q + near[2] * r,
        near[3] * p + near[4] * q + near[5] * r,
        near[0] * fx + near[1] * fy + near[2] * fz,
        near[3] * fx + near[4] * fy + near[5] * fz,
        known * (near[0] * u + near[1] * v + near[2] * w),
        known * (near[3] * u + near[4] * v + near[5] * w),
        fx * u + fy * v + fz * w,
    )


@compiled(inline="always")
def polynomial_rows(f, df, h, kind, first, last, found, known, hand, e, row):  # type: ignore[no-untyped-def]
    """Put the equations of a part with polynomials into e, from a row on; ``found`` are the contractions."""
    a1, a2, b1, b2, c1, c2, side = found
    for j in range(first, last):
        if kind == _GRADIENTS:
            e[row] = gradient_row(f, df, h[j, 1], h[j, 2], known * h[j, 3], a1, a2, c1, c2)
        else:
            e[row] = hand * stream_row(f, df, h[j, 0], h[j, 1], h[j, 2], b1, b2, side)
        row += 1
    return row


@compiled(inline="always")
def equation_rows(x, y, z, u, v, w, g, slope, near, h, parts, factors, L, mixing, slopes, known, e):  # type: ignore[no-untyped-def]
    """Put ⟨V, θ⟩ + known div V of all equations into e (m,), at the θ in the first column of the slopes, ν = (u, v, w).

    So that with known = 0 and a unit vector for θ this is one column of A_i, and with θ = 0 it is b_i.
    """
    p, q, r = slopes[0, 0], slopes[1, 0], slopes[2, 0]
    found = contraction_row(x, y, z, u, v, w, near, p, q, r, known)
    along, twice = p * x + q * y + r * z, 2.0 * known
    row = 0
    for k in range(len(parts)):
        kind, scale, first, last = parts[k, 0], parts[k, 1], parts[k, 2], parts[k, 3]
        f, df = g[scale], slope[scale]
        if kind == _STATISTICS:
            push = known * df
            e[row] = statistic_row(x, along, twice, p, f, push * u)
            e[row + 1] = statistic_row(y, along, twice, q, f, push * v)
            e[row + 2] = statistic_row(z, along, twice, r, f, push * w)
            row += 3
        else:
            row = polynomial_rows(f, df, h, kind, first, last, found, known, 1.0, e, row)


@compiled(inline="always")
def form_equation_rows(x, y, z, u, v, w, g, slope, near, h, parts, factors, L, mixing, slopes, known, e):  # type: ignore[no-untyped-def]
    """The same of a family of degree two, in its own frame, with the coordinates L and the slopes of θ·t by them."""
    t, r, hand = factors[0], factors[1], factors[3]
    s1 = slopes[0, 0] + slopes[0, 1] * L[0] + slopes[0, 2] * L[1] + slopes[0, 3] * L[2]
    s2 = slopes[1, 0] + slopes[1, 1] * L[0] + slopes[1, 2] * L[1] + slopes[1, 3] * L[2]
    s3 = slopes[2, 0] + slopes[2, 1] * L[0] + slopes[2, 2] * L[1] + slopes[2, 3] * L[2]
    found = contraction_row(x, y, z, u, v, w, near, t * s1, t * s2, r * s3, known)
    row = 0
    for k in range(len(parts)):
        kind, scale, first, last = parts[k, 0], parts[k, 1], parts[k, 2], parts[k, 3]
        f, df = g[scale], slope[scale]
        if kind == _STATISTICS:
            q0, q1, q2, q3, q4, q5, k0, k1, k2 = form_row(x, y, z, u, v, w, t, r, f, 0.0, df)
            e0, e1, e2, e3, e4, e5, e6, e7, e8 = product_row(
                q0, q1, q2, q3, q4, q5, known * k0, known * k1, known * k2, L[0], L[1], L[2], s1, s2, s3, 2.0 * known
            )
            for j in range(len(mixing)):
                a = mixing[j]
                total = a[0] * e0 + a[1] * e1 + a[2] * e2 + a[3] * e3 + a[4] * e4
                e[row] = total + a[5] * e5 + a[6] * e6 + a[7] * e7 + a[8] * e8
                row += 1
        else:
            row = polynomial_rows(f, df, h, kind, first, last, found, known, hand, e, row)
