"""`python -m oddshift` is the same as the `oddshift` command."""

from oddshift.cli import main

main()
