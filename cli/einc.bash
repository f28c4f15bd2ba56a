# Completion of the einc command for bash. What there is to complete is asked of the command itself: its help.

_einc_commands()
{
    "${COMP_WORDS[0]}" help 2>/dev/null | sed -n 's/^  einc \([a-z-]*\).*/\1/p' | awk '!seen[$0]++'
}

_einc_options()
{
    "${COMP_WORDS[0]}" help "$1" 2>/dev/null | sed -n 's/^  \(-[a-zA-Z], \)\{0,1\}\(--[a-z-]*\).*/\1 \2/p' | tr -d ','
}

_einc_targets()
{
    "${COMP_WORDS[0]}" help compile 2>/dev/null | sed -n '/^targets:/,$s/^  \([a-z0-9]*\) .*/\1/p'
}

_einc_files()
{
    local suffix
    for suffix in "$@"; do
        compgen -f -X "!*.$suffix" -- "$current"
    done
    compgen -d -S / -- "$current"
}

_einc()
{
    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD - 1]}" command="${COMP_WORDS[1]}"
    local IFS=$'\n'
    COMPREPLY=()
    # bash breaks words at "=": "--target=av" comes as "--target", "=", "av", and "Q=que" as "Q", "=", "que".
    if [[ $current == "=" ]]; then
        current=""
    elif [[ $previous == "=" ]]; then
        previous="${COMP_WORDS[COMP_CWORD - 2]}"
        [[ $previous == --* ]] || previous=-i
    fi
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "$(_einc_commands)" -- "$current"))
        return
    fi
    case "$previous" in
    --target) COMPREPLY=($(compgen -W "$(_einc_targets)" -- "$current")) ;;
    --device) COMPREPLY=($(compgen -W $'cpu\ncuda' -- "$current")) ;;
    --precision) COMPREPLY=($(compgen -W "exact bf16x3 bf16x6" -- "$current")) ;;
    --dump) COMPREPLY=($(compgen -W $'ast\nprogram\norder\nlower\nplan' -- "$current")) ;;
    --header) COMPREPLY=($(_einc_files h)) ;;
    --threads) COMPREPLY=($(compgen -W "$(seq "$(nproc)")" -- "$current")) ;;
    -d | --extents | --outputs | --shape | --static | --memory | --name | --seconds) ;;
    -o | --output)
        case "$command" in
        compile) COMPREPLY=($(_einc_files c)) ;;
        *) COMPREPLY=($(_einc_files npy)) ;;
        esac
        ;;
    -i | --input) COMPREPLY=($(_einc_files npy)) ;;
    *)
        case "$command$current" in
        cache*)
            [[ $previous == cache ]] && COMPREPLY=($(compgen -W $'ls\nclear\npath' -- "$current")) ;;
        help*)
            COMPREPLY=($(compgen -W "$(_einc_commands)" -- "$current")) ;;
        *@*) COMPREPLY=($(compgen -P @ -f -- "${current#@}")) ;;
        *-*) COMPREPLY=($(compgen -W "$(_einc_options "$command" | tr ' ' '\n')" -- "$current")) ;;
        *) COMPREPLY=($(_einc_files npy)) ;;
        esac
        ;;
    esac
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == */ ]] && compopt -o nospace 2>/dev/null
    return 0
}

complete -o filenames -F _einc einc
