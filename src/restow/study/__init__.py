"""The published studies, reproduced: packing, latency, and what they read and draw."""
