"""The library's tools over the Model Context Protocol, the client for them, and who owns a library."""
