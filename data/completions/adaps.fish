# fish completion for adaps. The program is asked for its commands (adaps --help), for the options of each
# (adaps --list-options COMMAND) and its operands (adaps --list-operands COMMAND), so there is no second list here.

# What the program offers (words, patterns of files, "/" for folders) for this beginning, after `before`.
function __adaps_offer -a before word
    for offer in $argv[3..-1]
        switch $offer
            case -
            case /
                printf "$before%s\n" (__fish_complete_directories $word)
            case '*\**'
                for file in (complete -C "'' $word")
                    set -l path (string split -f 1 \t -- $file)
                    if string match -q -- '*/' $path; or string match -q -- $offer $path
                        printf "$before%s\n" $path
                    end
                end
            case '*'
                printf "$before%s\n" $offer
        end
    end
end

function __adaps_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l before ''
    set -l wanted
    set -l options
    if test (count $words) -eq 1
        $words[1] --help 2>/dev/null | string match -rg '^  ([a-z]+) +(.*)' | paste - -
        printf '%s\n' --help --version
        return
    end
    set -l previous $words[-1]
    if string match -q -- '--*=*' $word
        set before (string replace -r '=.*' '=' -- $word)
        set previous (string replace -r '=.*' '' -- $word)
        set word (string replace -r '[^=]*=' '' -- $word)
    end
    for line in ($words[1] --list-options $words[2] 2>/dev/null)
        set -l field (string split \t -- $line)
        set -a options --$field[1]\t$field[4]
        if contains -- $previous --$field[1] -$field[2]; and test "$field[3]" != -
            set wanted (string split ' ' -- $field[5])
        end
    end
    if set -q wanted[1]
        __adaps_offer "$before" "$word" $wanted
    else if string match -q -- '-*' $word
        printf '%s\n' $options
    else
        __adaps_offer '' "$word" (string split ' ' -- ($words[1] --list-operands $words[2] 2>/dev/null))
    end
end

complete -c adaps -f -a '(__adaps_complete)'
