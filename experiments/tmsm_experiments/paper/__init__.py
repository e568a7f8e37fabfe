"""Every experiment of Williams & Liu, "Score Matching for Truncated Density Estimation on a Manifold" (2022)."""
