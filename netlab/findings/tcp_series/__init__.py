"""What TCP said of itself over time, and what that shows."""
