"""From an estimate to how sure it is: covariance, regions, intervals, tests, the bootstrap, comparison."""
