"""Files other than PDF: Markdown, plain text, HTML and DOCX, each read to the same ParsedDocument as a PDF."""
