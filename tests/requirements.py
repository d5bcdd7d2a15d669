"""What tests need of the machine: a user without it sees the reason of a skip, continuous integration a failure."""

import os
from typing import NoReturn

import pytest


def lacking(reason: str) -> NoReturn:
    """End a test for what is not there."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
