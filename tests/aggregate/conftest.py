"""Property tests draw the same examples on every run, and a busy machine does not fail them."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
