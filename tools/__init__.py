"""What makes files of the repository: pages, pictures, embedded data."""
