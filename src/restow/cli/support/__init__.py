"""What the commands share: option types, restow.toml, signals, and the path of transforms."""
