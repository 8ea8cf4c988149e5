"""The stages of an answer, each a class with one public method: router, retriever, reasoner, reflector, orchestrator."""
