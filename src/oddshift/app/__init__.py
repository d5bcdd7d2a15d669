"""The application: configuration, runs, report, demo and the command line."""
