"""What only developers of this project need."""
