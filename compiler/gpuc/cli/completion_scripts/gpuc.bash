# Completion of gpuc for bash. Add this line to ~/.bashrc:
#   eval "$(gpuc completion bash)"

_gpuc() {
    local typed=${COMP_WORDS[COMP_CWORD]} word _
    [[ $typed == "=" ]] && typed=
    COMPREPLY=()
    while IFS=$'\t' read -r word _; do
        case $word in
            :files) _gpuc_paths -f ;;
            :folders) _gpuc_paths -d ;;
            *) COMPREPLY+=("$word") ;;
        esac
    done < <("$1" completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

_gpuc_paths() {
    local path
    compopt -o filenames 2>/dev/null
    while IFS= read -r path; do
        COMPREPLY+=("$path")
    done < <(compgen "$1" -- "$typed")
}

complete -F _gpuc gpuc
