"""What round trips and connections took, and what that shows: rules about two kinds of test."""
