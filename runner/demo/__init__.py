"""`flowcompose demo`: an editorial review of a text that comes with the package."""
