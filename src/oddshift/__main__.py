"""`python -m oddshift` is the same as the `oddshift` command."""

from oddshift.app.cli import main

main()
