/** A word of a command, without its quotes. */
export interface Word {
  readonly text: string;
  /**
   * True if the shell uses the word unchanged. The shell may expand a word that is not plain, for example `*`
   * or `~`.
   */
  readonly isPlain: boolean;
}

/** The simple commands of a command line. */
export interface SplitCommand {
  /**
   * The words of each simple command. With unsupported syntax, they are a guess. A guess may be used only to
   * ask or to deny.
   */
  readonly parts: readonly (readonly Word[])[];
  /** The targets of the redirections that the parser recognizes. */
  readonly targets: readonly Word[];
  /**
   * The first unsupported syntax in the line. Undefined if the parser understands the complete line. It
   * supports words, quotes, `; & && | ||`, line ends, and redirections that change no file (`2>&1`,
   * `2>/dev/null`).
   */
  readonly unsupportedSyntax: string | undefined;
}

const maxLength = 10_000;

/**
 * Splits a command line like a POSIX shell or bash. It supports only simple syntax and reports everything
 * else in `unsupportedSyntax`. It always reports a line that it may have split wrongly.
 *
 * @example splitCommand('npm test && ls').parts.length; // 2
 */
export function splitCommand(command: string): SplitCommand {
  if (command.length > maxLength)
    return { parts: [], targets: [], unsupportedSyntax: 'too many characters' };
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
  /** True if the next word is the target of a redirection and not an argument. */
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
        return this.#skipHarmlessRedirection() ? undefined : this.#redirect();
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
    if (end === -1) this.#markUnsupported('an unclosed quote');
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
      else if (this.#skip('\n')) this.#markUnsupported('a line continuation');
      else this.#add(/["\\$`]/.test(this.#text[this.#at] ?? '') ? this.#next() : char);
    }
    this.#markUnsupported('an unclosed quote');
  }

  #escaped(): void {
    if (this.#at === this.#text.length) this.#markUnsupported('a backslash at the end');
    else if (this.#skip('\n')) this.#markUnsupported('a line continuation');
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

  /**
   * Skips a redirection that changes no file. Returns false if the redirection changes a file. The number
   * before the redirection was already read as a word. If that word is quoted or follows other text, it is an
   * argument, and the redirection is not skipped.
   */
  #skipHarmlessRedirection(): boolean {
    const start = this.#at - 1;
    const [, number] = /(?:^|[ \t\n;&|])([012]?)$/.exec(this.#text.slice(0, start)) ?? [];
    harmlessRedirection.lastIndex = start;
    const [found] = harmlessRedirection.exec(this.#text) ?? [];
    if (number === undefined || found === undefined || (this.#word ?? '') !== number) return false;
    this.#word = undefined;
    this.#at = start + found.length;
    return true;
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
    if (syntax > 0) this.#markUnsupported('shell syntax');
    const words = this.#words.slice(syntax);
    [this.#words, this.#isTarget] = [[], false];
    if (words.length > 0) this.parts.push(words);
  }
}

/** Matches `>&1`, `>&2`, `>/dev/null` and `</dev/null`, up to the end of the word. */
const harmlessRedirection = /(?:>&[12]|>>?[ \t]*\/dev\/null|<[ \t]*\/dev\/null)(?=[ \t\n;&|]|$)/y;

/** Words that the shell treats as syntax at the start of a command. */
const reserved: ReadonlySet<string> = new Set(
  `! [[ ]] { } case coproc do done elif else esac fi for function if in select then time until while`.split(
    ' ',
  ),
);

const assignment = /^[A-Za-z_][A-Za-z0-9_]*(?:\[.*\])?\+?=/s;

/** Returns the number of leading words that are shell syntax, such as `if`, `!` and `NAME=value`. */
function leadingSyntax(words: readonly string[]): number {
  const first = words.findIndex((word) => !reserved.has(word) && !assignment.test(word));
  return first === -1 ? words.length : first;
}

/**
 * The programs that run other programs. The policy cannot see the effect of a command that starts with one of
 * them.
 */
const launchers: ReadonlySet<string> = new Set(
  `. ash bash builtin busybox chroot chrt command csh dash doas env eval exec fakeroot fish flock
  gosu ionice ksh ltrace mksh nice nohup nsenter numactl parallel pkexec rbash runuser screen script
  setpriv setsid sg sh source ssh stdbuf strace su sudo systemd-run taskset tcsh time timeout tmux
  trap unshare watch xargs zsh`.split(/\s+/),
);

/**
 * True if the words of a command start a program that runs other programs, for example `sudo` or `xargs`.
 *
 * @example isLauncher(['sudo', 'ls']); // true
 */
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
