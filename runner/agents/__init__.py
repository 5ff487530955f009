"""What an Agent document names: the model that it asks, the tools that it calls."""
