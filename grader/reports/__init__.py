"""Reports to formats that people and other systems read. Pure functions; nothing is graded here."""
