"""Images: found, decoded, varied, stored."""
