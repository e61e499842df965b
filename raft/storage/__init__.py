"""What a node keeps: the log in segments, who voted for whom, and whose directory it is. Every file call is in here."""
