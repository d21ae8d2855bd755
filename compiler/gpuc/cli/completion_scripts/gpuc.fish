# Completion of gpuc for fish. Run this command once:
#   gpuc completion fish > ~/.config/fish/completions/gpuc.fish

function __gpuc_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    # The part of --option=PATH and FORMAT=PATH before the path.
    set -l prefix (string match -r '^[a-z-]+=(?:[a-z]+=)?' -- $typed; or echo)
    set -l path (string replace -r '^[a-z-]+=(?:[a-z]+=)?' '' -- $typed)
    for line in ($words[1] completion fish -- $words[2..] $typed 2>/dev/null)
        switch $line
            case ':files'
                printf '%s\n' $prefix(__fish_complete_path "$path")
            case ':folders'
                printf '%s\n' $prefix(__fish_complete_directories "$path")
            case '*'
                echo $line
        end
    end
end

complete -c gpuc -f -a '(__gpuc_complete)'
