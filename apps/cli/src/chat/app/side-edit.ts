import { type JsonValue, parseJson } from '@millrace/core';
import type { OpenQuestion } from '../ask/ask.ts';
import type { PendingApproval } from '../state/pending.ts';

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

export function inputEdit(
  { name, input }: PendingApproval,
  approve: (input: JsonValue) => void,
): SideEdit {
  return {
    title: `What ${name} gets, as JSON. Enter runs it with this, Esc goes back.`,
    text: JSON.stringify(input ?? {}, null, 2),
    mayBeEmpty: false,
    onSubmit: (text) => {
      const parsed = parseJson(text);
      if (!parsed.ok) return `That is not JSON: ${parsed.failure.message}`;
      approve(parsed.value);
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
