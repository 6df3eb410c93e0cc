"""Everything drawn on pages: field values, signatures, text, and the certificate of completion."""
