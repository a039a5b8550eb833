"""Hidden checks, misconceptions and witnesses, one file an exercise. Secret: never in the wheel."""
