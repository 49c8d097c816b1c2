import { MillraceError } from '@millrace/core';

export type CassetteErrorCode =
  /** An option that cannot be: a secret of two letters, a speed of 0. */
  | 'bad_option'
  /** A cassette's text: no JSON, wrong, of a later version, without its end, too much. */
  | 'not_json'
  | 'bad_value'
  | 'unsupported_version'
  | 'unfinished'
  | 'too_large'
  /** Replay: no exchange answers this request, or none is left. */
  | 'no_match'
  | 'exhausted'
  /** Replay: its reader stopped here when it was recorded, or the recording reached its limit. */
  | 'cut'
  | 'clipped';

/** `place` has the line and field of a text, or the exchange, request, method and path of a replay. */
export class CassetteError extends MillraceError<CassetteErrorCode> {}
