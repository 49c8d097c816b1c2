import { MillraceError } from '@millrace/core';

export type ModelErrorCode =
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
