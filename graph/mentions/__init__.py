"""The mention graph: the names that a library talks about, and the chunks that mention them."""
