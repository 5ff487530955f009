"""What is remembered: the contributions transcript and the audit tasks."""
