"""What a block is, and what blocks are made of: models, tools, prompts, events, errors."""
