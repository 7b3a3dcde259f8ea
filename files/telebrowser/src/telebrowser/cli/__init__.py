"""The verbs of the command line: one module a verb, imported only when it is used."""
