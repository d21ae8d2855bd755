# Completion of gpuc for fish. Run this command once:
#   gpuc completion fish > ~/.config/fish/completions/gpuc.fish

function __gpuc_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    for line in ($words[1] completion fish -- $words[2..] $typed 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path (string replace -r '^-.*?=|^[a-z]+=' '' -- $typed)
            case ':folders'
                __fish_complete_directories (string replace -r '^-.*?=' '' -- $typed)
            case '*'
                echo $line
        end
    end
end

complete -c gpuc -f -a '(__gpuc_complete)'
