import { type ErrorPlace, MillraceError } from '@millrace/core';

/** The command was called in a wrong way. The message says what to type instead. */
export class UsageError extends MillraceError<'usage'> {
  constructor(message: string, place: ErrorPlace = {}, options?: ErrorOptions) {
    super('usage', message, place, options);
  }
}

/**
 * The configuration is invalid. The message names the position but never the value, which may be a
 * key.
 */
export class ConfigError extends MillraceError<'bad_config'> {
  constructor(message: string, place: ErrorPlace = {}, options?: ErrorOptions) {
    super('bad_config', message, place, options);
  }
}

type ModelErrorCode =
  /** No known model has this name. */
  | 'unknown_model'
  | 'no_key'
  /** There is a maximum cost, but the model's price is unknown. */
  | 'no_price'
  /** A local model server does not answer. */
  | 'no_server'
  /** A local model server runs, but its model is not loaded yet. */
  | 'server_loading'
  /** The server's address must be configured. */
  | 'no_address';

/** A model cannot be used. The message says what to do and contains no key. */
export class ModelError extends MillraceError<ModelErrorCode> {
  constructor(code: ModelErrorCode, model: string, message: string) {
    super(code, message, { model });
  }
}

/** No session matches, or several do. */
export class SessionLookupError extends MillraceError<'no_such_session' | 'ambiguous_session'> {}
