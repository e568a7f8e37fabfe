from hypothesis import settings

# The same examples on every machine and in every run.
settings.register_profile("tmsm", derandomize=True, deadline=None, max_examples=25)
settings.load_profile("tmsm")
