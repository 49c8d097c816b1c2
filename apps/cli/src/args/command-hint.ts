import type { SharedArgs } from '../contract/args.ts';

/** The flags that say where the sessions and the settings of a command are. */
export type PlaceFlags = Pick<SharedArgs, 'cwd' | 'config' | 'store'>;

/**
 * Returns a command that the user can paste, such as `millrace sessions --all --store a.db`. It repeats the flags of
 * this command that are needed to find the same sessions.
 */
export function commandHint({ cwd, config, store }: PlaceFlags, words: string): string {
  const places = Object.entries({ cwd, config, store }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name} ${shellQuote(value)}`],
  );
  return ['millrace', words, ...places].join(' ');
}

/** Quotes a word for the shell. A word that starts with `~` or `-` is quoted too. */
export function shellQuote(text: string): string {
  return /^[\w./:@%+,][\w./:@%+,~-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
