/** Words that mean something to the shell itself where a command would begin. */
const reserved: ReadonlySet<string> = new Set(
  `! [[ ]] { } case coproc do done elif else esac fi for function if in select then time until while`.split(
    ' ',
  ),
);

const assignment = /^[A-Za-z_][A-Za-z0-9_]*(?:\[.*\])?\+?=/s;

/** How many words in front are the shell's own: `if`, `!`, `NAME=value`. */
export function leadingSyntax(words: readonly string[]): number {
  const first = words.findIndex((word) => !reserved.has(word) && !assignment.test(word));
  return first === -1 ? words.length : first;
}

/** Programs that run what they are told: of a command that begins with one nobody can say what it is. */
const launchers: ReadonlySet<string> = new Set(
  `. ash bash builtin busybox command dash doas env eval exec fish ksh nice nohup parallel setsid sh source stdbuf su sudo timeout xargs zsh`.split(
    ' ',
  ),
);

export function isLauncher(program: string): boolean {
  return launchers.has(baseName(program));
}

export function baseName(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1);
}
