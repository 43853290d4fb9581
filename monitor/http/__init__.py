"""What the door stands on: addresses, dialling, bodies and the hosts' gates."""
