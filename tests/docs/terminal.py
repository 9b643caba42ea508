# SPDX-License-Identifier: Apache-2.0
"""A program that goes on while the reader of a document goes on, in a terminal of its own; and Ctrl-C, which ends it."""
import fcntl
import os
import pty
import signal
import subprocess
import termios
import threading

import document

CTRL_C = b'\x03'


class Terminal:
    """What it prints is in the file path. Only one in which Ctrl-C is going to be pressed is a real terminal: elsewhere lines are
    not broken, and nothing moves."""

    def __init__(self, command, path, is_real, **kwargs):
        self.path = path
        self.keys = self.copier = None
        with open(path, 'wb') as file:
            if is_real:
                self.process = self.start_real(command, kwargs)
            else:
                self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                                start_new_session=True, **kwargs)

    def start_real(self, command, kwargs):
        self.keys, end = pty.openpty()
        before = kwargs.pop('preexec_fn', None)

        def enter():
            if before:
                before()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        process = subprocess.Popen(command, stdin=end, stdout=end, stderr=end, start_new_session=True, preexec_fn=enter, **kwargs)
        os.close(end)
        self.copier = threading.Thread(target=self.copy, daemon=True)
        self.copier.start()
        return process

    def copy(self):
        """Until nobody has the terminal any more."""
        with open(self.path, 'ab', buffering=0) as file:
            while True:
                try:
                    piece = os.read(self.keys, 65536)
                except OSError:
                    return
                if not piece:
                    return
                file.write(piece)

    def lines(self):
        with open(self.path, encoding='utf-8', errors='replace') as file:
            return document.tidy(file.read())

    def is_over(self):
        return self.process.poll() is not None and not (self.copier and self.copier.is_alive())

    def press_ctrl_c(self):
        os.write(self.keys, CTRL_C)

    def close(self):
        end_group(self.process)


def end_group(process):
    """Of a process that was started as the leader of a group: all that is left of it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            pass
