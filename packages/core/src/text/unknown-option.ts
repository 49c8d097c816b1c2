import { nearestNames } from './nearest-names.ts';

/** The names of all options of a type. The compiler reports a name that is missing or wrong. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/** An option that does not exist. */
export interface UnknownOption {
  /** The name as the caller wrote it. */
  readonly name: string;
  /** A sentence that suggests the option that was probably meant, or lists all options. */
  readonly hint: string;
}

/**
 * Finds an option that does not exist. Without this check, a misspelt option would be ignored.
 * Options with the value `undefined` are skipped. Returns undefined if all options are known.
 *
 * @example
 * findUnknownOption({ sesion: 'a' }, { session: true }); // { name: 'sesion', hint: 'Did you mean session?' }
 */
export function findUnknownOption<Options extends object>(
  options: Options,
  names: OptionNames<Options>,
): UnknownOption | undefined {
  const found = Object.entries(options).find(
    ([name, value]) => value !== undefined && !Object.hasOwn(names, name),
  );
  if (found === undefined) return undefined;
  const [name] = found;
  const known = Object.keys(names);
  const [near] = nearestNames(name, known, { isNear: isTypingMistake });
  const all = known.length === 0 ? 'There are no options' : `Known options: ${known.join(', ')}`;
  return { name, hint: near === undefined ? all : `Did you mean ${near}?` };
}

/**
 * Throws if the options are not an object or have an unknown name. `of` is the name of the function that
 * takes the options. `createError` returns the error to throw.
 *
 * @example assertOptionNames('memoryLog', options, { clock: true, bus: true }, (message) => new
 * TypeError(message));
 */
export function assertOptionNames<Options extends object>(
  of: string,
  options: Options,
  names: OptionNames<Options>,
  createError: (message: string, option: string | undefined) => Error,
): void {
  const start = `Cannot use the options of ${of}`;
  if (typeof options !== 'object' || options === null) {
    const known = Object.keys(names).join(', ');
    throw createError(`${start}: pass an object with ${known}`, undefined);
  }
  const unknown = findUnknownOption(options, names);
  if (unknown === undefined) return;
  const { name, hint } = unknown;
  throw createError(`${start}: there is no option ${name}. ${hint}`, name);
}

/**
 * Returns whether a candidate is so similar that the message suggests only this candidate. This test is
 * stricter than the default of `nearestNames`, because the message can list all options instead.
 */
function isTypingMistake(distance: number, candidate: string): boolean {
  return distance <= Math.min(3, candidate.length / 3);
}
