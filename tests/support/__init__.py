"""What tests share: real servers, real clients, small books."""
