"""What any program needs and nothing of our subject: errors, arrays, values, checks, progress, files."""
