"""What a shell runs as `deedbox` where `nursery.on_path` has put it: has it run in a fork, and ends as that ended."""

import json
import os
import signal
import socket
import sys


def main() -> None:
    place, *words = sys.argv[1:]
    told = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    told.connect(place)
    order = ["deedbox", words, os.getcwd(), dict(os.environ)]
    socket.send_fds(told, [json.dumps(order).encode()], [0, 1, 2])
    process = int(told.recv(64))
    signal.signal(signal.SIGTERM, lambda *_: os.kill(process, signal.SIGTERM))
    code = os.waitstatus_to_exitcode(int(told.recv(64)))
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main()
