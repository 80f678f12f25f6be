"""What tests run beside Python, and the machines on which they run."""
