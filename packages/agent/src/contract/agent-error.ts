import { type ErrorPlace, MillraceError } from '@millrace/core';

/** The codes of `AgentError`. */
export type AgentErrorCode =
  | 'bad_option'
  /** The input of a run is not a text, an item or a list of items. */
  | 'bad_input'
  /** A command has an unknown type, an unknown field, or a missing field. */
  | 'bad_command'
  /** The run has a maximum cost, but the price of a model is unknown. */
  | 'no_price'
  /** Two tools, or two agents, have the same name. */
  | 'name_taken'
  /** The session was handed off to an agent that no hand-off of this agent can reach. */
  | 'unknown_agent'
  /** The session has a `must_understand` fact that this version of the library does not support. */
  | 'not_understood'
  /** The current turn has no tool call with this id. */
  | 'no_such_call'
  /** The call already has a decision, or its run has ended. `place.decision` is the decision. */
  | 'already_decided'
  /** The call already has an output, which differs from the new output. */
  | 'already_answered'
  | 'no_such_item'
  | 'no_such_session'
  | 'run_over'
  /** The run stopped because the signal of the option `leave` aborted. The session can be resumed. */
  | 'left'
  /** The storage of the log is full. `place.through` is the offset of the last stored record. */
  | 'storage_full'
  /** The loop repeats itself without progress, because of a bug. */
  | 'stuck'
  /** The session cannot be replayed, because some of its deltas were removed. */
  | 'not_replayable'
  /** A file is not a recording of a session, or it is damaged. */
  | 'bad_recording'
  /** A recording is larger than its limit. */
  | 'too_large'
  /** A record contradicts the records before it. */
  | 'not_foldable';

/**
 * An error of the calling program, or a call to a run that has already ended. Failures during a run do not
 * throw; the result of the run contains them.
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

/** Returns the message of a thrown value, which may have any type. Never throws. */
export function textOfError(error: unknown): string {
  try {
    const text: unknown = error instanceof Error ? error.message : String(error);
    return typeof text === 'string' && text !== '' ? text.toWellFormed() : silent;
  } catch {
    return silent;
  }
}

const silent = 'It failed without saying why.';
