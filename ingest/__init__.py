"""From a file to chunks: parsing, layout, chunking, page images, and the pipeline that checkpoints them."""
