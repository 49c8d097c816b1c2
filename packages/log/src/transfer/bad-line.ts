import type { ErrorPlace } from '@millrace/core';

/** Why a line of a file cannot be taken; which one it is, is for the reader of the file to say. */
export class BadLine extends Error {
  readonly code: 'bad_records' | 'too_new';
  readonly place: ErrorPlace;

  constructor(
    why: string,
    code: 'bad_records' | 'too_new' = 'bad_records',
    place: ErrorPlace = {},
  ) {
    super(why);
    this.code = code;
    this.place = place;
  }
}
