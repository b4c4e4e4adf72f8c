"""Names that a hostile or careless program gives to its actors."""

HOSTILE = "evil $(zap) [x](command:y) \x1b[31mred\x1b[0m\n<b>two lines</b>"
