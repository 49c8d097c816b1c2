/** A word of a command, without its quotes. */
export interface Word {
  readonly text: string;
  /** The shell takes it as it is; otherwise it may make something else of it, as of `*` or `~`. */
  readonly isPlain: boolean;
}

interface SplitCommand {
  /** The words of each simple command. Where there is an obstacle these are a guess, of use for a no alone. */
  readonly parts: readonly (readonly Word[])[];
  /** Where redirections lead, as far as that can be seen. */
  readonly targets: readonly Word[];
  /** What makes the guess one: the first thing that is more than words, quotes, and `; & && | ||` or a line end. */
  readonly unsupportedSyntax: string | undefined;
}

const maxLength = 10_000;

/**
 * Splits a command line as a POSIX shell or bash would. It knows little and says so: for all that it
 * does not know there is an obstacle, and never a wrong split without one.
 */
export function splitCommand(command: string): SplitCommand {
  if (command.length > maxLength)
    return { parts: [], targets: [], unsupportedSyntax: 'its length' };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to find
  const hasControls = /[\u0000-\u0008\u000b-\u001f\u007f]/.test(command);
  const splitter = new Splitter(command);
  splitter.run();
  return {
    parts: splitter.parts,
    targets: splitter.targets,
    unsupportedSyntax: hasControls ? 'a control character' : splitter.unsupportedSyntax,
  };
}

class Splitter {
  readonly parts: (readonly Word[])[] = [];
  readonly targets: Word[] = [];
  unsupportedSyntax: string | undefined;
  readonly #text: string;
  #at = 0;
  #words: Word[] = [];
  #word: string | undefined;
  #isPlain = true;
  /** The next word is where a redirection leads, and no argument. */
  #isTarget = false;

  constructor(text: string) {
    this.#text = text;
  }

  run(): void {
    while (this.#at < this.#text.length) this.#step(this.#next());
    this.#endPart();
  }

  #next(): string {
    return this.#text[this.#at++] ?? '';
  }

  #skip(text: string): boolean {
    const isNext = this.#text.startsWith(text, this.#at);
    if (isNext) this.#at += text.length;
    return isNext;
  }

  #step(char: string): void {
    switch (char) {
      case ' ':
      case '\t':
        return this.#endWord();
      case '\n':
        return this.#endPart();
      case ';':
        return this.#separate();
      case '&':
        if (this.#skip('>')) return this.#redirect();
        this.#skip('&');
        return this.#separate();
      case '|':
        if (this.#skip('&')) this.#markUnsupported('a redirection');
        else this.#skip('|');
        return this.#separate();
      case '<':
      case '>':
        return this.#redirect();
      case '(':
      case ')':
        this.#markUnsupported('parentheses');
        return this.#endPart();
      case '`':
        this.#markUnsupported('a substitution');
        return this.#endPart();
      case '$':
        this.#markUnsupported('a substitution');
        return this.#add(char, false);
      case "'":
        return this.#quoted();
      case '"':
        return this.#doubleQuoted();
      case '\\':
        return this.#escaped();
      case '#':
        return this.#word === undefined ? this.#comment() : this.#add(char);
      default:
        return this.#add(char, !/[*?[\]{}~!^]/.test(char));
    }
  }

  #add(text: string, isPlain = true): void {
    this.#word = (this.#word ?? '') + text;
    this.#isPlain &&= isPlain;
  }

  #markUnsupported(what: string): void {
    this.unsupportedSyntax ??= what;
  }

  #quoted(): void {
    const end = this.#text.indexOf("'", this.#at);
    if (end === -1) this.#markUnsupported('a quote without its end');
    const until = end === -1 ? this.#text.length : end;
    this.#add(this.#text.slice(this.#at, until));
    this.#at = until + 1;
  }

  #doubleQuoted(): void {
    this.#add('');
    while (this.#at < this.#text.length) {
      const char = this.#next();
      if (char === '"') return;
      if (char === '$' || char === '`') this.#markUnsupported('a substitution');
      if (char !== '\\') this.#add(char);
      else if (this.#skip('\n')) this.#markUnsupported('a line that goes on');
      else this.#add(/["\\$`]/.test(this.#text[this.#at] ?? '') ? this.#next() : char);
    }
    this.#markUnsupported('a quote without its end');
  }

  #escaped(): void {
    if (this.#at === this.#text.length) this.#markUnsupported('a backslash at the end');
    else if (this.#skip('\n')) this.#markUnsupported('a line that goes on');
    else this.#add(this.#next());
  }

  #comment(): void {
    this.#markUnsupported('a comment');
    const end = this.#text.indexOf('\n', this.#at);
    this.#at = end === -1 ? this.#text.length : end;
  }

  #redirect(): void {
    this.#markUnsupported('a redirection');
    this.#endWord();
    this.#isTarget = true;
  }

  #separate(): void {
    this.#endWord();
    if (this.#words.length === 0) this.#markUnsupported('a separator without a command before it');
    this.#endPart();
  }

  #endWord(): void {
    const [text, isPlain, isTarget] = [this.#word, this.#isPlain, this.#isTarget];
    if (text === undefined) return;
    [this.#word, this.#isPlain, this.#isTarget] = [undefined, true, false];
    (isTarget ? this.targets : this.#words).push({ text, isPlain });
  }

  #endPart(): void {
    this.#endWord();
    const syntax = leadingSyntax(this.#words.map(({ text }) => text));
    if (syntax > 0) this.#markUnsupported('the syntax of the shell');
    const words = this.#words.slice(syntax);
    [this.#words, this.#isTarget] = [[], false];
    if (words.length > 0) this.parts.push(words);
  }
}

/** Words that mean something to the shell itself where a command would begin. */
const reserved: ReadonlySet<string> = new Set(
  `! [[ ]] { } case coproc do done elif else esac fi for function if in select then time until while`.split(
    ' ',
  ),
);

const assignment = /^[A-Za-z_][A-Za-z0-9_]*(?:\[.*\])?\+?=/s;

/** How many words in front are the shell's own: `if`, `!`, `NAME=value`. */
function leadingSyntax(words: readonly string[]): number {
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
