"""Who speaks when: one turn loop, and the patterns that schedule it."""
