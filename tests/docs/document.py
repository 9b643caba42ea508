# SPDX-License-Identifier: Apache-2.0
"""A Markdown document as something that can be run: its code blocks, the commands in them, and what they say comes out.

A line "$ command" in a code block (indented by four, or fenced) is run; lines "> more" behind it go on with it, as a shell would
ask for them; everything up to the next "$" or the end of the block is what it prints. In that, … stands for something that differs
from run to run, and a line that is nothing but … for any number of lines.

A comment on the line above a block, or above the blank line before it, says what else the block is:

    <!-- terminal -->              its first "$" line goes on in another terminal; what it prints is waited for. At a line ^C the
                                   reader presses Ctrl-C, and waits for the end
    <!-- terminal, no locale -->   the same, where no language is set
    <!-- printed -->               what the last such terminal has printed, from its beginning
    <!-- file NAME -->             the reader saves it under this name
    <!-- measured by PATH -->      it shows what the benchmark PATH has printed once

Every command is run as it stands, but for those of NOT_RUN.
"""
import re

# The only commands that are not run as they stand: what is run instead, and why.
NOT_RUN = {
    'make test': ('make --dry-run test', 'it is what runs the documents'),
}

MARK = re.compile(r'^<!-- (terminal(?:, no locale)?|printed|file (\S+)|measured by (\S+(?: \S+)*)) -->$')
FENCE = re.compile(r'^(```+|~~~+)\s*(\S*)')
ANY_COMMENT = re.compile(r'^<!--.*-->$')
# What a reader would paste into a shell. A block in another language than a shell's is not looked at.
PROGRAMS = ('apk apt apt-get brew buildah build/reeve cat cd cp curl dnf docker dpkg etcd export git go helm install jq kill kubectl '
            'kubectl-reeve kustomize ln make man meson mkdir mv ninja node npm openssl pip podman python3 reeve reeve-fetch rm rpm '
            'skopeo source sudo systemctl tar wget').split()
FOLDERS = ('./', '.ci/', 'bench/', 'build/', 'deploy/', 'examples/', 'tests/', 'tools/')
SHELL_LANGUAGES = ('', 'bash', 'console', 'sh', 'shell', 'text')


class Command:
    """One "$ line" with what is to follow."""

    def __init__(self, line, text):
        self.line = line  # the first is 1
        self.text = text
        self.expected = []
        self.expected_at = line  # lines[expected_at:expected_end] of the document are these
        self.expected_end = line

    @property
    def plain(self):
        """Without what a reader is told of it."""
        return re.sub(r'\s+# .*', '', self.text).strip()


class Block:
    """A code block; lines are without the indentation."""

    def __init__(self, line, indent, language, mark):
        self.line, self.indent, self.language = line, indent, language
        self.mark, self.argument = mark
        self.lines = []
        self.commands = []

    def read_commands(self):
        if self.mark == 'printed':
            self.commands.append(Command(self.line - 1, ''))  # of the terminal before
        for number, text in enumerate(self.lines, self.line):
            if text.startswith('$ ') and not (self.mark in ('printed', 'terminal') and self.commands):
                self.commands.append(Command(number, text[2:]))
                self.commands[-1].expected_at = self.commands[-1].expected_end = number
            elif self.commands:
                last = self.commands[-1]
                if text.startswith('> ') and not last.expected or text == '>' and not last.expected:
                    last.text += '\n' + text[2:]
                    last.expected_at = last.expected_end = number
                else:
                    last.expected.append(text.rstrip())
                    last.expected_end = number
        for command in self.commands:
            while command.expected and not command.expected[-1]:
                command.expected.pop()
                command.expected_end -= 1

    def stray_commands(self):
        """(line, text) of what looks like a command and is neither run nor printed by one."""
        if self.language not in SHELL_LANGUAGES or self.mark in ('file', 'measured', 'printed'):
            return []
        found = []
        for number, text in enumerate(self.lines, self.line):
            if text.startswith('$ '):
                break  # what follows is compared
            if looks_like_command(text):
                found.append((number, text))
        return found


def looks_like_command(text):
    if text.startswith(' '):
        return False  # a drawing, or what follows a line
    words = text.split()
    while words and re.fullmatch(r'[A-Z_]+=\S*', words[0]):
        words.pop(0)  # NAME=value program
    return bool(words) and (words[0] in PROGRAMS or words[0].startswith(FOLDERS))


def parse_mark(text):
    """("terminal"|"printed"|"file"|"measured"|"", argument) of a comment."""
    match = MARK.match(text.strip())
    if not match:
        return '', ''
    kind, _, argument = match.group(1).partition(',' if match.group(1).startswith('terminal') else ' ')
    return kind, match.group(2) or match.group(3) or argument.strip()


def parse(text):
    """All code blocks of a document, in order."""
    lines = text.split('\n')
    blocks = []
    mark = ('', '')
    at = 0
    is_open = True  # nothing but a blank line, a heading or another block stands right above
    while at < len(lines):
        line = lines[at]
        fence = FENCE.match(line)
        if fence:
            block = Block(at + 2, '', fence.group(2), mark)
            at += 1
            while at < len(lines) and not re.match(r'^%s\s*$' % re.escape(fence.group(1)), lines[at]):
                block.lines.append(lines[at])
                at += 1
            at += 1
        elif line.startswith('    ') and line.strip() and is_open:
            block = Block(at + 1, '    ', '', mark)
            while at < len(lines) and (lines[at].startswith('    ') or not lines[at].strip()):
                block.lines.append(lines[at][4:])
                at += 1
            while not block.lines[-1].strip():
                block.lines.pop()
        else:
            if ANY_COMMENT.match(line.strip()):
                mark = parse_mark(line)
            elif line.strip():
                mark = ('', '')
            is_open = not line.strip() or line.startswith('#') or bool(ANY_COMMENT.match(line.strip()))
            at += 1
            continue
        block.read_commands()
        blocks.append(block)
        mark, is_open = ('', ''), True
    return blocks


def pattern_of(expected):
    """A regular expression for lines in which … stands for what differs."""
    parts = []
    for line in expected:
        if line.strip() == '…':
            parts.append(r'(?:[^\n]*\n)*?')
        else:
            parts.append(r'[^\n]*'.join(re.escape(part) for part in line.split('…')) + r'\n')
    return re.compile(''.join(parts))


def tidy(output):
    """What was printed, as lines without blanks at their ends and without blank lines at the end."""
    lines = [line.rstrip() for line in output.replace('\r\n', '\n').split('\n')]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def matches(expected, lines):
    return bool(pattern_of(expected).fullmatch(''.join(line + '\n' for line in lines)))


def begins(expected, lines):
    """Of a program that goes on: what the document shows has come, whatever follows."""
    return bool(pattern_of(expected).match(''.join(line + '\n' for line in lines)))
