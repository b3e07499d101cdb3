"""Never ends, and ignores every polite request to."""

import signal

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_IGN)
while True:
    pass
