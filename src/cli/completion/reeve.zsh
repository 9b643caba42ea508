#compdef reeve
# SPDX-License-Identifier: Apache-2.0
# Completion of reeve for zsh. What there is to say is asked of reeve itself.

_reeve() {
    local -a before lines described
    local line word directive
    ((CURRENT > 2)) && before=("${(@Q)words[2,CURRENT-1]}")
    lines=("${(@f)$("${(Q)words[1]}" __complete $before "${(Q)PREFIX}" 2>/dev/null)}")
    directive=${lines[-1]#:}
    [[ $directive == <-> ]] || return 1
    for line in $lines[1,-2]; do
        word=${${line%%$'\t'*}//:/\\:}
        [[ $line == *$'\t'* ]] && word+=:${line#*$'\t'}
        described+=($word)
    done
    [[ $PREFIX == --*=* ]] && compset -P '*='
    if ((directive & 16)); then
        _files -/
    else
        local -a space
        ((directive & 2)) && space=(-S '')
        (($#described)) && _describe -t reeve reeve described $space
        ((directive & 4)) || _files
    fi
}

if [[ $funcstack[1] == _reeve ]]; then
    _reeve "$@"
else
    compdef _reeve reeve
fi
