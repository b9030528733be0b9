"""What commands share: their options, the parser of them all, and how those that ask models begin and end."""
