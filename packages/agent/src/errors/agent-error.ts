import { type ErrorPlace, MillraceError } from '@millrace/core';

export type AgentErrorCode =
  | 'bad_option'
  /** Two tools, or two agents, of one name. */
  | 'name_taken'
  /** The session has a fact marked `must_understand` that this version does not. */
  | 'not_understood'
  /** There is no such call to decide on, or it was decided on already. */
  | 'no_such_call'
  | 'run_over'
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
