"""Programs in place of roles: each prints its first argument and a word when it serves, and when it ends."""

SERVING = """
import signal, sys, time
def end(*_):
    print(sys.argv[1], "ends", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print(sys.argv[1], "serves", flush=True)
time.sleep(1000)
"""
STUBBORN = SERVING.replace("end)", "signal.SIG_IGN)")
"""It ignores SIGTERM."""
