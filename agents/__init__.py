"""The stages of an answer, each a class of one public method: router, retriever, reasoner, reflector, orchestrator."""
