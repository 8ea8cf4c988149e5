"""Cypher in both directions: what models write is read into a Pattern, and a Pattern is compiled for Neo4j."""
