/** What locates an error: ids, offsets, paths. Never content, so that no secret travels in an error. */
export type ErrorPlace = Readonly<Record<string, string | number | undefined>>;

/**
 * The base of every error that Millrace throws on purpose. `code` is for programs, the message for
 * people: it names the thing, its state and the way out, and `place` has the ids it speaks of.
 */
export class MillraceError<Code extends string = string> extends Error {
  readonly code: Code;
  readonly place: ErrorPlace;
  /** A mark that is the same in every installed copy of this package, where `instanceof` is not. */
  readonly isMillraceError: true = true;

  constructor(code: Code, message: string, place: ErrorPlace = {}, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.place = place;
  }
}

/** Is it an error of ours, from whichever copy of the package? */
export function isMillraceError(error: unknown): error is MillraceError {
  return typeof error === 'object' && error !== null && 'isMillraceError' in error;
}
