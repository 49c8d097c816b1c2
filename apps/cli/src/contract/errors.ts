import { type ErrorPlace, MillraceError } from '@millrace/core';

/** Thrown if the command was called in a wrong way. The message says what to type instead. */
export class UsageError extends MillraceError<'usage'> {
  constructor(message: string, place: ErrorPlace = {}, options?: ErrorOptions) {
    super('usage', message, place, options);
  }
}

/**
 * Thrown if the configuration is invalid. The message names the position, but never the value,
 * because the value may be a key.
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

/** Thrown if a model cannot be used. The message says what to do and contains no key. */
export class ModelError extends MillraceError<ModelErrorCode> {
  constructor(code: ModelErrorCode, model: string, message: string) {
    super(code, message, { model });
  }
}

/** Thrown if no session matches, or if several sessions match. */
export class SessionLookupError extends MillraceError<'no_such_session' | 'ambiguous_session'> {}
