"""Numerical methods that know no data: Newton's method, quadratics on a sphere, scaled linear algebra."""
