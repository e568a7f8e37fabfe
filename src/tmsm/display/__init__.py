"""A fit as people see it: tables, plots, a report, a file."""
