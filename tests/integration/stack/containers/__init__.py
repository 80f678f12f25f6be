"""The image and the stack in containers, brought up as the install page says."""
