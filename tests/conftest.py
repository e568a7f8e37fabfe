import signal

from hypothesis import settings

# The same examples on every machine and in every run.
settings.register_profile("tmsm", derandomize=True, deadline=None, max_examples=25)
settings.load_profile("tmsm")

# A shell starts background jobs with interruptions ignored, and their children inherit that: some of these tests
# interrupt theirs.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
