"""Settings, truths and simulations that tests and benchmarks have in common, one file for each subject."""
