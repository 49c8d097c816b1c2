import { nearestNames } from './nearest-names.ts';

/** The names of all options of a type. The compiler reports a name that is missing or wrong. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/** An option that does not exist. */
export interface UnknownOption {
  /** The name as the caller wrote it. */
  readonly name: string;
  /** Which options exist, as a sentence: the one that was probably meant, or all of them. */
  readonly hint: string;
}

/**
 * Finds an option that does not exist, so that a typing mistake does not turn a setting off. Options
 * with the value `undefined` are ignored. Returns undefined if all options are known.
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
 * Throws if the options are not an object or have an unknown name. `of` names the function that takes
 * them, and `createError` creates the error of the package.
 *
 * @example
 * assertOptionNames('memoryLog', options, { clock: true, bus: true }, (message) => new TypeError(message));
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

/** Stricter than the default of `nearestNames`, because the alternative is the list of all options. */
function isTypingMistake(distance: number, candidate: string): boolean {
  return distance <= Math.min(3, candidate.length / 3);
}
