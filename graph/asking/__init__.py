"""From a question to patterns: by Cypher, by slots and by rules."""
