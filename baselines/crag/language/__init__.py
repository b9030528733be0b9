"""What is read out of a question of CRAG by rules: its dates, its entities, its names."""
