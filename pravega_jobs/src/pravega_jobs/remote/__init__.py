"""Work that another process does: its order, and the reports that it sends back."""
