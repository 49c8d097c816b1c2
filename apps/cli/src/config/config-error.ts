import { type ErrorPlace, MillraceError } from '@millrace/core';

/** A configuration that cannot be used. It says where, and never what stands there: it may be a key. */
export class ConfigError extends MillraceError<'bad_config'> {
  constructor(message: string, place: ErrorPlace = {}, options?: ErrorOptions) {
    super('bad_config', message, place, options);
  }
}
