import type {
  CreateElicitationRequest,
  CreateElicitationResponse,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from '@agentclientprotocol/sdk';
import {
  checkForm,
  type FormQuestion,
  formDismissed,
  type JsonObject,
  type JsonValue,
  readForm,
} from '@millrace/core';
import type { UserAnswer, UserQuestion } from '@millrace/tools';
import type { PendingApproval } from '../chat/contract/dialog.ts';
import { AskedApprovals } from '../chat/dialog/asked-approvals.ts';
import type { Conversation } from '../chat/session/conversation.ts';
import { printable } from '../text/cells/printable.ts';
import { revealInContent, revealInProse } from '../text/cells/reveal-hidden.ts';
import { textContent } from './call-view.ts';

type Form = Extract<CreateElicitationRequest, { mode: 'form' }>;

interface EditorQuestionsOptions {
  readonly conversation: () => Pick<Conversation, 'approve' | 'deny'>;
  /** Shows a form in the editor. Undefined if the editor shows no forms. */
  readonly elicit:
    | ((
        form: Pick<Form, 'message' | 'requestedSchema'>,
        signal: AbortSignal,
      ) => Promise<CreateElicitationResponse>)
    | undefined;
  readonly request: (
    request: Omit<RequestPermissionRequest, 'sessionId'>,
    signal: AbortSignal,
  ) => Promise<RequestPermissionResponse>;
  readonly onProblem: (error: unknown) => void;
}

/**
 * Shows questions of the model, and forms of tools and MCP servers, in the editor. An editor without
 * forms shows the options of a question as answers to a permission request.
 */
export class EditorQuestions {
  readonly #options: EditorQuestionsOptions;
  readonly #forms = new AskedApprovals();
  #asked = 0;

  constructor(options: EditorQuestionsOptions) {
    this.#options = options;
  }

  /** Shows new forms, and closes those that were answered elsewhere. */
  update(approvals: readonly PendingApproval[]): void {
    const waiting = approvals.filter(({ form }) => form !== undefined);
    this.#forms.update(waiting, (approval, signal) => {
      if (approval.form === undefined) return;
      this.#answerForm(approval, approval.form, signal).catch((error: unknown) => {
        if (!signal.aborted) this.#options.onProblem(error);
      });
    });
  }

  /** Answers a question of the model. Undefined means that the user dismissed it. */
  readonly ask = async (question: UserQuestion, signal: AbortSignal): Promise<UserAnswer> => {
    try {
      const isForm = this.#options.elicit !== undefined;
      return await (isForm ? this.#askWithForm(question, signal) : this.#choose(question, signal));
    } catch (error) {
      if (!signal.aborted) this.#options.onProblem(error);
      return undefined;
    }
  };

  async #answerForm(
    approval: PendingApproval,
    form: FormQuestion,
    signal: AbortSignal,
  ): Promise<void> {
    const { approve, deny } = this.#decisions();
    const read = readForm(form);
    if (!read.ok) return deny(approval, `The form cannot be shown: ${read.problem}`);
    if (this.#options.elicit === undefined) return deny(approval, 'The editor shows no forms.');
    const schema = revealedSchema(form.schema);
    if (hasHidden(schema)) return deny(approval, 'The form has values with invisible characters.');
    const asker = `Asked by ${(approval.agents ?? [`tool ${approval.name}`]).join(' → ')}:\n`;
    const message = asker + form.message;
    const content = await this.#elicit(message, schema, signal).catch(() => undefined);
    if (signal.aborted) return;
    if (content === undefined) return deny(approval, formDismissed);
    const checked = checkForm(read.fields, content);
    if (!checked.ok) return deny(approval, [...checked.problems.values()].join(' '));
    await approve(approval, { input: content });
  }

  #decisions(): Pick<Conversation, 'approve' | 'deny'> {
    const conversation = this.#options.conversation();
    return {
      approve: (...given) => conversation.approve(...given),
      deny: (...given) => conversation.deny(...given),
    };
  }

  async #elicit(
    message: string,
    schema: JsonObject,
    signal: AbortSignal,
  ): Promise<JsonObject | undefined> {
    const requestedSchema = schema as Form['requestedSchema'];
    const shown = { message: revealInProse(message), requestedSchema };
    const answer = await this.#options.elicit?.(shown, signal);
    if (answer?.action !== 'accept') return undefined;
    return (answer as { readonly content?: JsonObject | null }).content ?? {};
  }

  async #askWithForm(question: UserQuestion, signal: AbortSignal): Promise<UserAnswer> {
    const content = await this.#elicit(question.question, questionSchema(question), signal);
    if (content === undefined) return undefined;
    const { answer, other } = content;
    if (typeof other === 'string' && other.trim() !== '') return other;
    if (Array.isArray(answer)) return answer.filter((one) => typeof one === 'string');
    return typeof answer === 'string' && answer !== '' ? answer : undefined;
  }

  async #choose({ question, options }: UserQuestion, signal: AbortSignal): Promise<UserAnswer> {
    if (options.length === 0) return undefined;
    const toolCallId = `question-${++this.#asked}`;
    const { outcome } = await this.#options.request(
      {
        toolCall: {
          ...{ toolCallId, title: revealInProse(question), kind: 'other', status: 'pending' },
          content: [textContent(revealInProse(question))],
        },
        options: [
          ...options.map(({ label, description }, index) => ({
            optionId: `${index}`,
            name: revealInProse(description === undefined ? label : `${label}: ${description}`),
            kind: 'allow_once' as const,
          })),
          { optionId: 'none', name: 'No answer', kind: 'reject_once' },
        ],
      },
      signal,
    );
    if (outcome.outcome === 'cancelled') return undefined;
    return options[Number(outcome.optionId)]?.label;
  }
}

/** Returns the form of a question. The user can always write a different answer. */
function questionSchema({ options, multiple }: UserQuestion): JsonObject {
  const other = { type: 'string', title: options.length === 0 ? 'Answer' : 'Another answer' };
  if (options.length === 0) return { type: 'object', properties: { other }, required: ['other'] };
  const choices: JsonValue[] = options.map(({ label, description }) => ({
    ...{ const: label, title: revealInProse(label) },
    ...(description !== undefined && { description: revealInProse(description) }),
  }));
  const answer = multiple
    ? { type: 'array', title: 'Answers', items: { anyOf: choices } }
    : { type: 'string', title: 'Answer', oneOf: choices };
  return { type: 'object', properties: { answer, other } };
}

/** The fields of a schema with texts that an editor only shows. */
const shownFields: ReadonlySet<string> = new Set(['title', 'description', 'enumNames']);

/** Shows the hidden characters in the texts of a schema. An editor shows the texts as they are. */
function revealedSchema(schema: JsonObject): JsonObject {
  return mapTexts(schema, (text, field) =>
    shownFields.has(field) ? revealInProse(text) : text,
  ) as JsonObject;
}

/** Returns true if a name or a value of a schema has hidden characters. They are part of the answer, so they stay. */
function hasHidden(schema: JsonObject): boolean {
  let found = false;
  mapTexts(schema, (text) => {
    found ||= revealInContent(text) !== text || printable(text) !== text;
    return text;
  });
  return found;
}

/** Changes all texts of a value. `field` is the name of the field that contains the text. Names are texts too. */
function mapTexts(
  value: JsonValue,
  change: (text: string, field: string) => string,
  field = '',
): JsonValue {
  if (typeof value === 'string') return change(value, field);
  if (Array.isArray(value)) return value.map((one: JsonValue) => mapTexts(one, change, field));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [change(name, ''), mapTexts(one, change, name)]),
  );
}
