"""The kinds of file that are read, by what their names end in. It imports nothing: the command line starts at once."""

SUFFIXES = {
    ".pdf": "pdf",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".html": "html",
    ".htm": "html",
    ".docx": "docx",
}
KINDS = "PDF, Markdown, text, HTML or DOCX"
