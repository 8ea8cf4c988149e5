"""Where the graph is kept and walked: NetworkX, Neo4j, and one in place of the other."""
