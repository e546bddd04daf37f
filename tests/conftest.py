"""How many examples Hypothesis tries, chosen by HYPOTHESIS_PROFILE."""

import os

from hypothesis import settings

settings.register_profile("ci", max_examples=100, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("fast", settings.get_profile("ci"), max_examples=15)
settings.register_profile("interpreted", settings.get_profile("ci"), max_examples=5)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
