"""Where rows come from: sources, blocks, groups, readers of files."""
