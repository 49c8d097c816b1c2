import { type ErrorPlace, MillraceError } from '@millrace/core';

/** Thrown if the command line is wrong. The message contains a correction. */
export class UsageError extends MillraceError<'usage'> {
  constructor(message: string, place: ErrorPlace = {}, options?: ErrorOptions) {
    super('usage', message, place, options);
  }
}

/**
 * Thrown if the configuration is invalid. The message contains the position, but never the value,
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
  /** A maximum cost is set, but the price of the model is unknown. */
  | 'no_price'
  /** The local model server does not answer. */
  | 'no_server'
  /** The local model server runs, but its model is still loading. */
  | 'server_loading'
  /** The local model server belongs to a different user of the machine. */
  | 'foreign_server'
  /** A sub-agent of a project chose a model that searches the web. */
  | 'searches_web'
  /** The address of the server is not configured. */
  | 'no_address';

/** Thrown if a model cannot be used. The message contains advice, but no key. */
export class ModelError extends MillraceError<ModelErrorCode> {
  constructor(code: ModelErrorCode, model: string, message: string) {
    super(code, message, { model });
  }
}

/** Thrown if no session matches, or if several sessions match. */
export class SessionLookupError extends MillraceError<'no_such_session' | 'ambiguous_session'> {}
