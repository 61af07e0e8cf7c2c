# SPDX-License-Identifier: Apache-2.0
# Completion of cobre for bash. The command answers, from the tables of its options; where it has no answer, files are offered.
_cobre() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\t'*}")
    done < <("$1" completion "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o bashdefault -o default -F _cobre cobre
