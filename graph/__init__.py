"""The knowledge graph: triples from text, entities from names, patterns from Cypher, stores that match them."""
