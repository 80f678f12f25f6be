"""Laws that hold for all books, profiles and questions, on random ones."""
