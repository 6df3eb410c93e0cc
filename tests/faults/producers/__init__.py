"""PDF files from as many programs and libraries as there are, to be taken through the product's own chain."""
