/**
 * The ids, offsets and paths that locate an error. They never contain content of a session, so errors cannot
 * leak secrets.
 */
export type ErrorPlace = Readonly<Record<string, string | number | undefined>>;

/**
 * The base class of every error that Millrace throws on purpose. Programs use `code`. The message is for
 * people: it names the object, its state and the fix. `place` contains the ids that the message refers to.
 */
export class MillraceError<Code extends string = string> extends Error {
  readonly code: Code;
  readonly place: ErrorPlace;
  /** Marks an error as a Millrace error, even if several copies of this package are installed. */
  readonly isMillraceError: true = true;

  constructor(code: Code, message: string, place: ErrorPlace = {}, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.place = place;
  }

  /**
   * Makes `instanceof` accept errors from other installed copies of this package. It compares the names of
   * the classes that the error inherits from.
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: `this` is the class of the check, a subclass
    const { name, prototype } = this;
    if (typeof value !== 'object' || value === null) return false;
    if (Object.prototype.isPrototypeOf.call(prototype, value)) return true;
    if (!isMillraceError(value)) return false;
    for (let at = Object.getPrototypeOf(value); at !== null; at = Object.getPrototypeOf(at))
      if (at.constructor?.name === name) return true;
    return false;
  }
}

/** Returns whether a value is a Millrace error, from any installed copy of the package. */
export function isMillraceError(error: unknown): error is MillraceError {
  return typeof error === 'object' && error !== null && 'isMillraceError' in error;
}
