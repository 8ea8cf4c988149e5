"""Finding: embedders, the dense and lexical indexes, rank fusion, hybrid search."""
