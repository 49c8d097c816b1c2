import { type ErrorPlace, MillraceError } from '@millrace/core';

/** The command was called in a way it does not know. The message says what to type instead. */
export class UsageError extends MillraceError<'usage'> {
  constructor(message: string, place: ErrorPlace = {}, options?: ErrorOptions) {
    super('usage', message, place, options);
  }
}

/** A configuration that cannot be used. It says where, and never what stands there: it may be a key. */
export class ConfigError extends MillraceError<'bad_config'> {
  constructor(message: string, place: ErrorPlace = {}, options?: ErrorOptions) {
    super('bad_config', message, place, options);
  }
}

type ModelErrorCode =
  /** There is none of that name, as far as is known. */
  | 'unknown_model'
  | 'no_key'
  /** A server that is run on one's own machine does not answer. */
  | 'no_server'
  /** Its address has to be configured. */
  | 'no_address';

/** Why a model cannot be used, and what to do about it. No key is in it. */
export class ModelError extends MillraceError<ModelErrorCode> {
  constructor(code: ModelErrorCode, model: string, message: string) {
    super(code, message, { model });
  }
}

/** What was asked for is no session, or could be several. */
export class SessionLookupError extends MillraceError<'no_such_session' | 'ambiguous_session'> {}
