import type { SharedArgs } from '../contract/args.ts';

/** The flags that say where the sessions and the settings of a command are. */
export type PlaceFlags = Pick<SharedArgs, 'cwd' | 'config' | 'store'>;

/**
 * Returns a command that the user can paste, such as `millrace sessions --all --store a.db`. It repeats the flags of
 * this command that are needed to find the same sessions. `operand` is the last word, for example the id of a
 * session. An id of an imported session can look like a flag, and must not become one.
 */
export function commandHint(
  { cwd, config, store }: PlaceFlags,
  words: string,
  operand?: string,
): string {
  const places = Object.entries({ cwd, config, store }).flatMap(([name, value]) =>
    value === undefined ? [] : [flagWord(name, value)],
  );
  const isLikeFlag = operand?.startsWith('-') === true;
  const last = operand === undefined ? [] : [...(isLikeFlag ? ['--'] : []), shellQuote(operand)];
  // After `--` there are no flags.
  const rest = isLikeFlag ? [...places, ...last] : [...last, ...places];
  return ['millrace', words, ...rest].join(' ');
}

/** Returns a command that resumes a session. `words` are the words before the flag. Default: none. */
export function resumeHint(flags: PlaceFlags, session: string, words?: string): string {
  const resume = flagWord('resume', session);
  return commandHint(flags, words === undefined ? resume : `${words} ${resume}`);
}

/** Returns a flag with its value. A value that looks like a flag needs the form with `=`. */
function flagWord(name: string, value: string): string {
  return `--${name}${value.startsWith('-') ? '=' : ' '}${shellQuote(value)}`;
}

/** Quotes a word for the shell. A word that starts with `~` or `-` is quoted too. */
export function shellQuote(text: string): string {
  return /^[\w./:@%+,][\w./:@%+,~-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
