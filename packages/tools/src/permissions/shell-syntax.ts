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
  `. ash bash builtin busybox chroot chrt command csh dash doas env eval exec fakeroot fish flock
  gosu ionice ksh ltrace mksh nice nohup nsenter numactl parallel pkexec rbash runuser screen script
  setpriv setsid sg sh source ssh stdbuf strace su sudo systemd-run taskset tcsh time timeout tmux
  trap unshare watch xargs zsh`.split(/\s+/),
);

export function isLauncher(words: readonly string[]): boolean {
  const [program = '', ...rest] = words;
  const name = baseName(program);
  return (
    launchers.has(name) || (name === 'find' && rest.some((word) => /^-(?:exec|ok)/.test(word)))
  );
}

export function baseName(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1);
}
