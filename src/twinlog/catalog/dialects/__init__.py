"""What differs between the databases, and nothing else."""
