import { type JsonValue, parseJson } from '@millrace/core';
import type { OpenQuestion, PendingApproval } from '../contract/dialog.ts';

/** A text field that replaces the prompt, for a reason, an answer or a changed input. */
export interface SideInput {
  /** The title. It describes the purpose of the field and its keys. */
  readonly title: string;
  /** The initial text. */
  readonly text: string;
  /** True if the user can submit an empty text. */
  readonly mayBeEmpty: boolean;
  /**
   * Called with the text. Returns a problem with the text, or undefined if the text is accepted.
   */
  readonly onSubmit: (text: string) => string | undefined;
}

export function denialReasonInput(
  { name }: PendingApproval,
  deny: (reason: string | undefined) => void,
  text = '',
): SideInput {
  return {
    title: `Reason for denying ${name} (sent to the model). Enter denies, Esc goes back.`,
    text,
    mayBeEmpty: true,
    onSubmit: (typed) => {
      deny(reasonIn(typed));
      return undefined;
    },
  };
}

/**
 * Returns the reason that the user typed. If the user typed "no", the `n` opened this field, and
 * the text starts with "o". This "o" is removed.
 */
function reasonIn(typed: string): string | undefined {
  const [, reason = ''] = /^\s*(?:o(?![\p{L}\p{N}])[\s.,;:!-]*)?(.*)$/isu.exec(typed) ?? [];
  return reason.trim() === '' ? undefined : reason.trim();
}

/**
 * Returns the text field for a changed input. The user edits a command or the content of a file as
 * plain text, and all other inputs as JSON. `onChanged` returns a problem with the changed input, or undefined.
 */
export function changedInputInput(
  { name, input }: PendingApproval,
  onChanged: (input: JsonValue) => string | undefined,
): SideInput {
  const key = plainTextFields.get(name);
  const fields = (input ?? {}) as Readonly<Record<string, JsonValue>>;
  const text = key === undefined ? undefined : fields[key];
  if (key !== undefined && typeof text === 'string')
    return plainTextInput(key, text, (changed) => onChanged({ ...fields, [key]: changed }));
  return {
    title: `Input of ${name} as JSON. Enter shows the changed call, Esc goes back.`,
    text: JSON.stringify(input ?? {}, null, 2),
    mayBeEmpty: false,
    onSubmit: (typed) => {
      const parsed = parseJson(typed);
      if (!parsed.ok) return `Not valid JSON: ${parsed.failure.message}`;
      return onChanged(parsed.value);
    },
  };
}

const plainTextFields: ReadonlyMap<string, 'command' | 'content'> = new Map([
  ['bash', 'command'],
  ['write', 'content'],
]);

function plainTextInput(
  key: 'command' | 'content',
  before: string,
  onChanged: (text: string) => string | undefined,
): SideInput {
  const isCommand = key === 'command';
  // The editor drops a newline at the end, but the file may need it.
  const end = !isCommand && before.endsWith('\n') ? '\n' : '';
  return {
    title: isCommand
      ? 'Command. Enter shows the changed call, Alt-Enter adds a line, Esc goes back.'
      : 'File content. Enter shows the changed call, Alt-Enter adds a line, Esc goes back.',
    text: before.slice(0, before.length - end.length),
    mayBeEmpty: !isCommand,
    onSubmit: (text) => onChanged(text + end),
  };
}

export function answerInput({ answer }: OpenQuestion): SideInput {
  return {
    title: 'Your answer. Enter sends it, Esc goes back.',
    text: '',
    mayBeEmpty: false,
    onSubmit: (text) => {
      answer(text.trim());
      return undefined;
    },
  };
}
