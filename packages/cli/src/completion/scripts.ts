export const shells = ["bash", "zsh", "fish"] as const;

/** Printed instead of candidates where the shell's own completion of paths is wanted. */
export const filesWanted = ":files";

// Each asks the command itself, so that a script never falls behind it.
const scripts: Readonly<Record<(typeof shells)[number], string>> = {
  // Bash takes words apart at colons and equal signs, and wants only what follows the last of them.
  bash: `_leasehold() {
  local line="\${COMP_LINE:0:COMP_POINT}" IFS=$' \\t\\n'
  local -a words
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  local current="\${words[\${#words[@]}-1]}" IFS=$'\\n'
  COMPREPLY=($(leasehold __complete -- "\${words[@]:1}" 2>/dev/null | cut -f1))
  if [[ "\${COMPREPLY[0]}" == "${filesWanted}" ]]; then
    COMPREPLY=()
    compopt -o default
    return
  fi
  local prefix="\${current%"\${current##*[:=]}"}"
  COMPREPLY=("\${COMPREPLY[@]#"$prefix"}")
}
complete -F _leasehold leasehold`,
  zsh: `_leasehold() {
  local -a candidates
  local value description
  while IFS=$'\\t' read -r value description; do
    candidates+=("\${value//:/\\\\:}\${description:+:$description}")
  done < <(leasehold __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if [[ "$candidates[1]" == "\\\\${filesWanted}" ]]; then _files; else _describe leasehold candidates; fi
}
compdef _leasehold leasehold`,
  fish: `function __leasehold_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l candidates (leasehold __complete -- $words[2..-1] 2>/dev/null)
  if test "$candidates[1]" = "${filesWanted}"
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $candidates
  end
end
complete -c leasehold -f -a '(__leasehold_complete)'`,
};

export const completionScript = (shell: (typeof shells)[number]): string => scripts[shell];
