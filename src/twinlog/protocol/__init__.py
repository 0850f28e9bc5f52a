"""Delta as values: actions, their JSON, schemas, features and rules. No I/O, no clock, no environment."""
