"""The demo: the toy of the paper in closed form, then the whole way from a broken promise to protected texts."""

from oddshift.app.demo.stories import (
    PEOPLE,
    Story,
    protected_sample,
    story,
    tell,
    tell_audit,
    tell_belief,
    tell_choice,
    tell_sample,
)

__all__ = [
    "PEOPLE",
    "Story",
    "protected_sample",
    "story",
    "tell",
    "tell_audit",
    "tell_belief",
    "tell_choice",
    "tell_sample",
]
