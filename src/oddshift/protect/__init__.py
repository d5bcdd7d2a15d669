"""Apply a policy: to values in memory (`Sanitizer`), or to files.

`docs/protect.md` explains both; integrations build on `Sanitizer`.
"""

from oddshift.protect.blueprints import location_blueprint, table_blueprint, text_blueprint, vector_blueprint
from oddshift.protect.noise import os_uniforms, seeded_uniforms
from oddshift.protect.sanitizer import Sanitizer

__all__ = [
    "Sanitizer",
    "location_blueprint",
    "os_uniforms",
    "seeded_uniforms",
    "table_blueprint",
    "text_blueprint",
    "vector_blueprint",
]
