"""What may be wrong with the data themselves: mechanical findings, which a person confirms, and shared checks."""
