# Completion of toolcrib for bash. The binary itself says what can follow; this gives it whole
# words, because bash splits them at `=`, `:` and `@`, and falls back to files for values of options that it knows nothing about. Paths of
# arguments count from the workspace, not from here: the binary alone completes them.
_toolcrib() {
    local words=() word index joined=
    for ((index = 0; index <= COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        if ((index > 0)) && [[ $word == [=:@] || $joined ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
        [[ $word == [=:@] ]] && joined=1 || joined=
    done
    local current=${words[${#words[@]}-1]} prefix=
    [[ $current == *[=:@]* ]] && prefix=${current%"${current##*[=:@]}"}
    # An `@` belongs to what bash completes, the others do not.
    prefix=${prefix%@}
    local IFS=$'\013'
    COMPREPLY=($(_CLAP_IFS=$IFS _CLAP_COMPLETE_INDEX=$((${#words[@]} - 1)) _CLAP_COMPLETE_COMP_TYPE=$COMP_TYPE \
        _CLAP_COMPLETE_SPACE=false COMPLETE=bash toolcrib -- "${words[@]}" 2>/dev/null))
    if [[ $prefix ]]; then
        # Bash completes what stands after the last of them.
        COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
        if [[ $current == -*=* && ( ${#COMPREPLY[@]} -eq 0 || -z ${COMPREPLY[0]} ) ]]; then
            IFS=$'\n'
            COMPREPLY=($(compgen -f -- "${current#"$prefix"}"))
            compopt -o filenames 2>/dev/null
        elif [[ ${COMPREPLY[0]-} == */ ]]; then
            compopt -o nospace 2>/dev/null
        fi
    elif [[ ${COMPREPLY[0]-} == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o bashdefault -F _toolcrib toolcrib
