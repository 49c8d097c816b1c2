import { MillraceError } from '@millrace/core';

/** The file of the history cannot be used. The prompt works without it. */
export class HistoryError extends MillraceError<'history_unusable'> {
  constructor(action: 'read' | 'write', path: string, options: ErrorOptions) {
    const { cause } = options;
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `Cannot ${action} the history of the prompt in ${path}: ${why}. The prompt works without it; see to it that the file can be read and written`;
    super('history_unusable', message, { path }, options);
  }
}
