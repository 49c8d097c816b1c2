import { type ErrorPlace, MillraceError } from '@millrace/core';

/** The command was called in a way it does not know. The message says what to type instead. */
export class UsageError extends MillraceError<'usage'> {
  constructor(message: string, place: ErrorPlace = {}, options?: ErrorOptions) {
    super('usage', message, place, options);
  }
}
