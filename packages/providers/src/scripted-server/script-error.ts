import { MillraceError } from '@millrace/core';

export type ScriptErrorCode =
  /** The script itself makes no sense. */
  | 'bad_script'
  /** The wire has no word for it. */
  | 'not_on_wire'
  /** Not all that was scripted happened, or more than that did. */
  | 'not_as_scripted'
  | 'server_closed';

/** A mistake in a script, or a test that went another way than its script. */
export class ScriptError extends MillraceError<ScriptErrorCode> {}
