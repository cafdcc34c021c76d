"""The report's sections: what each shows, worked out from a run's records. The templates only lay it out."""
