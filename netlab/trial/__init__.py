"""What a trial is: its record, the rows of its settings, its columns, its interruptions."""
