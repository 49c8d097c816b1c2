import { MillraceError } from '../errors.ts';

export type DecodeErrorCode = 'not_json' | 'too_large' | 'unsupported_version' | 'bad_value';

/** A document that is not what it should be. `place.path` leads to the field, such as `$.delta.at`. */
export class DecodeError extends MillraceError<DecodeErrorCode> {}

/** Thrown inside a decoder; the fields on the way out put themselves in front of the path. */
export class Misfit extends Error {
  readonly path: (string | number)[] = [];
  readonly code: DecodeErrorCode;

  constructor(why: string, code: DecodeErrorCode = 'bad_value') {
    super(why);
    this.code = code;
  }
}

export function pathText(path: readonly (string | number)[]): string {
  return path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : `${text}.${step}`),
    '$',
  );
}
