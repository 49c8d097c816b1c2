import {
  checkForm,
  type FormField,
  type FormQuestion,
  formDismissed,
  type JsonValue,
  readForm,
} from '@millrace/core';
import type { UserAnswer, UserQuestion } from '@millrace/tools';
import type { PendingApproval } from '../contract/dialog.ts';
import { AskedApprovals } from './asked-approvals.ts';

interface FormAnswersOptions {
  readonly ask: (question: UserQuestion, signal: AbortSignal) => Promise<UserAnswer>;
  readonly approve: (
    approval: PendingApproval,
    how: { readonly input: JsonValue },
  ) => Promise<void>;
  readonly deny: (approval: PendingApproval, reason: string | undefined) => Promise<void>;
  readonly runInBackground: (work: Promise<void>) => void;
}

/**
 * Asks the user the fields of forms one after the other, as questions. A tool or an MCP server asks with a
 * form. A form that needs no value ends with the question whether to send it. So the user has always
 * answered a question before a form is accepted. The user dismisses a form with Esc.
 */
export class FormAnswers {
  readonly #options: FormAnswersOptions;
  readonly #asked = new AskedApprovals();

  constructor(options: FormAnswersOptions) {
    this.#options = options;
  }

  /** Asks new forms, and closes those that were answered elsewhere. */
  update(approvals: readonly PendingApproval[]): void {
    const waiting = approvals.filter(({ form, isAnswered }) => form !== undefined && !isAnswered);
    this.#asked.update(waiting, (approval, signal) => {
      if (approval.form === undefined) return;
      this.#options.runInBackground(this.#answer(approval, approval.form, signal));
    });
  }

  async #answer(approval: PendingApproval, form: FormQuestion, signal: AbortSignal): Promise<void> {
    const { approve, deny } = this.#options;
    const read = readForm(form);
    // A form that cannot be shown cannot be answered.
    if (!read.ok) return deny(approval, `The form cannot be shown: ${read.problem}`);
    const content = new Map<string, JsonValue>();
    for (const field of read.fields) {
      const value = await this.#askField(approval, form, field, signal);
      if (signal.aborted) return;
      if (value === undefined) return deny(approval, formDismissed);
      if (value !== null) content.set(field.name, value);
    }
    if (!read.fields.some(({ isRequired }) => isRequired)) {
      const isSent = await this.#confirm(approval, form, content.size, signal);
      if (signal.aborted) return;
      if (isSent !== true) return deny(approval, isSent === false ? undefined : formDismissed);
    }
    await approve(approval, { input: Object.fromEntries(content) });
  }

  /** Asks whether to accept a form. Returns undefined if the user dismisses the form. */
  async #confirm(
    { name }: PendingApproval,
    { message }: FormQuestion,
    answers: number,
    signal: AbortSignal,
  ): Promise<boolean | undefined> {
    const what = answers === 0 ? 'Agree?' : 'Send your answers?';
    const head = `${name} asks: ${message}\n${what}`;
    // The selection starts on the option that declines.
    const options = [{ label: no }, { label: yes }];
    for (let question = head; ; question = `${head}\nChoose Yes or No.`) {
      const answer = await this.#options.ask({ question, options, multiple: false }, signal);
      const [text] = [answer ?? []].flat();
      if (text === undefined) return undefined;
      const value = booleanOf(text.trim());
      if (value !== undefined) return value;
    }
  }

  /** Asks a field until its answer fits. Null leaves the field out, and undefined dismisses the form. */
  async #askField(
    { name }: PendingApproval,
    { message }: FormQuestion,
    field: FormField,
    signal: AbortSignal,
  ): Promise<JsonValue | undefined> {
    for (let problem = ''; ; ) {
      const about = field.description === undefined ? '' : ` (${field.description})`;
      const head = `${name} asks: ${message}\n${field.title}${about}`;
      const question = problem === '' ? head : `${head}\n${problem}`;
      const multiple = field.kind === 'choices';
      const answer = await this.#options.ask(
        { question, options: optionsOf(field), multiple },
        signal,
      );
      const texts = [answer ?? []].flat();
      if (answer === undefined || texts.length === 0) return undefined;
      if (texts.includes(leftOut) && !field.isRequired) return null;
      const value = fieldValue(field, texts);
      const checked = checkForm([field], { [field.name]: value });
      if (checked.ok) return value;
      problem = checked.problems.get(field.name) ?? '';
    }
  }
}

const leftOut = 'Leave it out';
const [yes, no] = ['Yes', 'No'];

function optionsOf(field: FormField): UserQuestion['options'] {
  const own = ownOptions(field);
  return field.isRequired || field.kind === 'boolean' ? own : [...own, { label: leftOut }];
}

function ownOptions(field: FormField): UserQuestion['options'] {
  switch (field.kind) {
    case 'boolean':
      return field.initial ? [{ label: yes }, { label: no }] : [{ label: no }, { label: yes }];
    case 'choice':
    case 'choices':
      return field.options.map(({ label, description }) => ({ label, description }));
    case 'number':
      return field.initial === undefined ? [] : [{ label: String(field.initial) }];
    case 'text':
      return field.initial === '' ? [] : [{ label: field.initial }];
  }
}

/** Converts the chosen labels, or the text of the user, to the value of a field. */
function fieldValue(field: FormField, texts: readonly string[]): JsonValue {
  const [first = ''] = texts;
  switch (field.kind) {
    case 'text':
      return first;
    case 'number':
      return first.trim() === '' || Number.isNaN(Number(first)) ? first : Number(first);
    case 'boolean':
      return booleanOf(first) ?? first;
    case 'choice':
      return optionValue(field.options, first);
    case 'choices':
      return texts.map((text) => optionValue(field.options, text));
  }
}

function booleanOf(text: string): boolean | undefined {
  if (/^y(?:es)?$/i.test(text)) return true;
  return /^no?$/i.test(text) ? false : undefined;
}

function optionValue(
  options: readonly { readonly value: string; readonly label: string }[],
  text: string,
): string {
  return options.find(({ label, value }) => label === text || value === text)?.value ?? text;
}
