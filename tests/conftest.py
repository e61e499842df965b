"""What all tests share: how hypothesis searches.

Two profiles: `deterministic`, for every run, tries the same examples each time and has no deadline, because this may be
a slow machine; `exhaustive`, on demand (`HYPOTHESIS_PROFILE=exhaustive`), tries many new ones.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "deterministic",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("exhaustive", max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "deterministic"))
