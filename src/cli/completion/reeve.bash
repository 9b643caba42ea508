# SPDX-License-Identifier: Apache-2.0
# Completion of reeve for bash. What there is to say is asked of reeve itself.

_reeve() {
    # COMP_WORDS is cut at "=" and ":", too: what has no space between is one word.
    local rest=${COMP_LINE:0:COMP_POINT} words=() word trimmed i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        trimmed=${rest#"${rest%%[![:space:]]*}"}
        word=${COMP_WORDS[i]}
        ((i < COMP_CWORD)) || word=$trimmed
        if ((i > 0)) && [[ $trimmed == "$rest" ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
        rest=${trimmed:${#word}}
    done

    local lines=() directive
    mapfile -t lines < <("$1" __complete "${words[@]:1}" 2>/dev/null)
    ((${#lines[@]})) || return
    directive=${lines[-1]#:}
    unset 'lines[-1]'

    # Readline replaces what is behind the last character of COMP_WORDBREAKS only.
    local current=${words[-1]} before= behind=
    if [[ $current == --*=* ]]; then
        [[ $COMP_WORDBREAKS == *=* ]] || before=${current%%=*}=
        current=${current#*=}
    fi
    [[ $COMP_WORDBREAKS != *:* || $current != *:* ]] || behind=${current%:*}:

    local line about width=0
    COMPREPLY=()
    for line in "${lines[@]}"; do
        word=${line%%$'\t'*}
        ((${#word} <= width)) || width=${#word}
    done
    for line in "${lines[@]}"; do
        word=${line%%$'\t'*} about=${line:${#word}+1}
        word=$before${word#"$behind"}
        # Of several nothing is put into the line, so there is room to say what they are; menus (37, 42) do put one there.
        if [[ -n $about && $COMP_TYPE != 37 && $COMP_TYPE != 42 ]] && ((${#lines[@]} > 1)); then
            printf -v word "%-${width}s  (%s)" "$word" "$about"
        fi
        COMPREPLY+=("$word")
    done
    ((directive & 4)) && compopt +o default
    ((directive & 16)) && compopt +o default -o dirnames
    ((directive & 2)) && compopt -o nospace
}

complete -o default -F _reeve reeve
