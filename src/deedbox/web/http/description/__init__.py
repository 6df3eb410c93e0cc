"""What the API's description says beside the types: the words of each field, examples, links from answers on."""
