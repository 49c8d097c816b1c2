import { MillraceError } from '@millrace/core';

/** Not all that was scripted was asked for, or more than that. */
export class ScriptedError extends MillraceError<'not_as_scripted'> {}
