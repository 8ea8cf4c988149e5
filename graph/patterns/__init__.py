"""What a query points at: patterns, their canonical text, and the matcher that finds them in memory."""
