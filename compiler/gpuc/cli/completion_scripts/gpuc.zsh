#compdef gpuc
# Completion of gpuc for zsh. Add this line to ~/.zshrc, after compinit:
#   eval "$(gpuc completion zsh)"

_gpuc() {
    local word help paths=
    local -a described open
    while IFS=$'\t' read -r word help; do
        case $word in
            :files | :folders) paths=$word ;;
            *=) open+=("$word") ;;
            *) described+=("${word//:/\\:}${help:+:$help}") ;;
        esac
    done < <("${words[1]}" completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    (( ${#described} )) && _describe 'gpuc' described
    (( ${#open} )) && compadd -S '' -- "${open[@]}"
    if [[ -n $paths ]]; then
        compset -P '*='
        [[ $paths == :folders ]] && _files -/ || _files
    fi
}

if [[ ${funcstack[1]} == _gpuc ]]; then
    _gpuc "$@"
else
    compdef _gpuc gpuc
fi
