export const shells = ["bash", "zsh", "fish"] as const;

// Each asks the command itself, so that a script never falls behind it. Where there is nothing to offer, files are.
const scripts: Readonly<Record<(typeof shells)[number], string>> = {
  bash: `_leasehold() {
  local IFS=$'\\n'
  COMPREPLY=($(leasehold __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _leasehold leasehold`,
  zsh: `_leasehold() {
  local -a candidates
  local value description
  while IFS=$'\\t' read -r value description; do
    candidates+=("\${value//:/\\\\:}\${description:+:$description}")
  done < <(leasehold __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#candidates} )); then _describe leasehold candidates; else _files; fi
}
compdef _leasehold leasehold`,
  fish: `function __leasehold_complete
  set -l words (commandline -opc) (commandline -ct)
  leasehold __complete -- $words[2..-1] 2>/dev/null
end
complete -c leasehold -a '(__leasehold_complete)'`,
};

export const completionScript = (shell: (typeof shells)[number]): string => scripts[shell];
