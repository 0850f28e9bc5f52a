"""The command line. Only this package knows the terminal; what it shows comes from the catalog."""
