"""What is done for every agent all the time: heartbeats, and the offset of its clock."""
