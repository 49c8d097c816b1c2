import { type JsonValue, parseJson } from '@millrace/core';
import type { OpenQuestion, PendingApproval } from '../contract/dialog.ts';

/** Something that is typed in the place of a message: a reason, an answer, another input. */
export interface SideEdit {
  /** What it is for, and what the keys do. */
  readonly title: string;
  /** What is there to begin with. */
  readonly text: string;
  /** Whether nothing is an answer too. */
  readonly mayBeEmpty: boolean;
  /** What is wrong with it; nothing where it was taken. */
  readonly onSubmit: (text: string) => string | undefined;
}

export function reasonEdit(
  { name }: PendingApproval,
  deny: (reason: string | undefined) => void,
): SideEdit {
  return {
    title: `Why may ${name} not run? The model is told. Enter denies it, Esc goes back.`,
    text: '',
    mayBeEmpty: true,
    onSubmit: (text) => {
      deny(text.trim() === '' ? undefined : text.trim());
      return undefined;
    },
  };
}

/** A command and a file's content as they are; anything else as JSON. */
export function inputEdit(
  { name, input }: PendingApproval,
  approve: (input: JsonValue) => void,
): SideEdit {
  const key = plainFields.get(name);
  const fields = (input ?? {}) as Readonly<Record<string, JsonValue>>;
  const text = key === undefined ? undefined : fields[key];
  if (key !== undefined && typeof text === 'string')
    return plainEdit(key, text, (changed) => approve({ ...fields, [key]: changed }));
  return {
    title: `What ${name} gets, as JSON. Enter runs it with this, Esc goes back.`,
    text: JSON.stringify(input ?? {}, null, 2),
    mayBeEmpty: false,
    onSubmit: (typed) => {
      const parsed = parseJson(typed);
      if (!parsed.ok) return `That is not JSON: ${parsed.failure.message}`;
      approve(parsed.value);
      return undefined;
    },
  };
}

const plainFields: ReadonlyMap<string, 'command' | 'content'> = new Map([
  ['bash', 'command'],
  ['write', 'content'],
]);

function plainEdit(
  key: 'command' | 'content',
  before: string,
  approve: (text: string) => void,
): SideEdit {
  const isCommand = key === 'command';
  // The editor has no use for it, but a file may need it.
  const end = !isCommand && before.endsWith('\n') ? '\n' : '';
  return {
    title: isCommand
      ? 'The command. Enter runs it so, Alt-Enter is a new line, Esc goes back.'
      : 'What is written. Enter writes it so, Alt-Enter is a new line, Esc goes back.',
    text: before.slice(0, before.length - end.length),
    mayBeEmpty: !isCommand,
    onSubmit: (text) => {
      approve(text + end);
      return undefined;
    },
  };
}

export function answerEdit({ answer }: OpenQuestion): SideEdit {
  return {
    title: 'Your answer. Enter gives it, Esc goes back.',
    text: '',
    mayBeEmpty: false,
    onSubmit: (text) => {
      answer(text.trim());
      return undefined;
    },
  };
}
