import { type ErrorPlace, MillraceError } from '@millrace/core';

export type AgentErrorCode =
  | 'bad_option'
  /** Two tools, or two agents, of one name. */
  | 'name_taken'
  /** The session was handed to somebody who is not there. */
  | 'unknown_agent'
  /** The session has a fact marked `must_understand` that this version does not. */
  | 'not_understood'
  /** There is no such call to decide on, or it was decided on already. */
  | 'no_such_call'
  | 'no_such_item'
  | 'no_such_session'
  | 'run_over'
  /** The run was left as it is, for whoever resumes it. */
  | 'left'
  /** A bug of ours: the loop would turn for ever. */
  | 'stuck'
  /** Not all of what a session said is left. */
  | 'not_replayable'
  /** What is in the log does not follow from what is before it. */
  | 'not_foldable';

/** A mistake of the program, or a call that comes too late. What happens on the way is a result. */
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

/** What an error says, whatever was thrown. */
export function textOfError(error: unknown): string {
  try {
    const text: unknown = error instanceof Error ? error.message : String(error);
    return typeof text === 'string' && text !== '' ? text.toWellFormed() : silent;
  } catch {
    return silent;
  }
}

const silent = 'It failed without saying why.';
