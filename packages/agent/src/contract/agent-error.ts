import { type ErrorPlace, MillraceError } from '@millrace/core';

/** The codes of `AgentError`. */
export type AgentErrorCode =
  | 'bad_option'
  /** The input of a run is not a text, an item or a list of items. */
  | 'bad_input'
  /** A command has an unknown type or field, or lacks a field. */
  | 'bad_command'
  /** There is a maximum cost, but the price of a model is unknown. */
  | 'no_price'
  /** Two tools, or two agents, have the same name. */
  | 'name_taken'
  /** The session was handed off to an agent that this agent cannot hand off to. */
  | 'unknown_agent'
  /** The session has a `must_understand` fact that this version does not support. */
  | 'not_understood'
  /** The current turn has no call with this id. */
  | 'no_such_call'
  /** The call is decided, or its run has ended. `place.decision` is the decision. */
  | 'already_decided'
  /** The call already has an output that differs from the new one. */
  | 'already_answered'
  | 'no_such_item'
  | 'no_such_session'
  | 'run_over'
  /** The run stopped because of its `leave` signal. It can be resumed. */
  | 'left'
  /** The storage of the log is full. `place.through` is the last offset that is stored. */
  | 'storage_full'
  /** The loop makes no progress, because of a bug. */
  | 'stuck'
  /** The session cannot be replayed, because some of its deltas were removed. */
  | 'not_replayable'
  /** A record does not follow from the records before it. */
  | 'not_foldable';

/**
 * An error in the calling program, or a call to a run that is already over. Failures during a run
 * are part of its result instead.
 */
export class AgentError extends MillraceError<AgentErrorCode> {
  constructor(
    code: AgentErrorCode,
    message: string,
    place: ErrorPlace = {},
    options?: ErrorOptions,
  ) {
    super(code, message, place, options);
  }
}

/** Returns the message of an error, whatever value was thrown. Never throws. */
export function textOfError(error: unknown): string {
  try {
    const text: unknown = error instanceof Error ? error.message : String(error);
    return typeof text === 'string' && text !== '' ? text.toWellFormed() : silent;
  } catch {
    return silent;
  }
}

const silent = 'It failed without saying why.';
