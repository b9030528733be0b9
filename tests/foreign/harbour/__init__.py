"""A benchmark that somebody else publishes: which port a ship sails to, asked of notices to mariners."""
