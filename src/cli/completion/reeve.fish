# SPDX-License-Identifier: Apache-2.0
# Completion of reeve for fish. What there is to say is asked of reeve itself.

function __reeve_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($before[1] __complete $before[2..-1] "$current" 2>/dev/null)
    or return
    set -l directive (string sub -s 2 -- $lines[-1])
    set -l prefix (string match -r -- '^--[^=]+=' "$current")
    for line in $lines[1..-2]
        printf '%s\n' "$prefix$line"
    end
    test "$directive" = 16; and __fish_complete_directories "$current"
    test "$directive" = 0; and __fish_complete_path "$current"
end

complete -c reeve -f -a '(__reeve_complete)'
