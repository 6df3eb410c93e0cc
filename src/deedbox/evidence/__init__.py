"""The evidence of how a document was signed: the hash chain of its audit rows, and the file that carries them out."""
