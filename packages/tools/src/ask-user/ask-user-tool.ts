import { type DefinedTool, defineTool, type ToolContext, type ToolOutput } from '@millrace/agent';
import type { JsonObject } from '@millrace/core';
import { z } from 'zod';
import { abortable } from '../abortable.ts';

/** A question that the model asks the user. */
export interface UserQuestion {
  readonly question: string;
  /**
   * Suggested answers. The list is empty if the model suggests none. The user can always type a different
   * answer.
   */
  readonly options: readonly {
    readonly label: string;
    readonly description?: string | undefined;
  }[];
  /** True if the user may choose several options. */
  readonly multiple: boolean;
}

/**
 * The user's answer: a text, a chosen label, or a list of them. Undefined if the user dismissed the question.
 */
export type UserAnswer = string | readonly string[] | undefined;

/** Options of `askUserTool`. */
export interface AskUserOptions {
  /**
   * Shows the question and resolves with the answer. The signal aborts when the answer is no longer
   * needed. Default: the question is a form on the log, and any client of the session can answer it.
   */
  readonly ask?: ((question: UserQuestion, signal: AbortSignal) => Promise<UserAnswer>) | undefined;
  /** Name of the tool. Default: `ask_user`. */
  readonly name?: string | undefined;
}

/** The input that the model sends. */
export interface AskUserInput {
  readonly question: string;
  readonly options?: UserQuestion['options'] | undefined;
  readonly multiple?: boolean | undefined;
}

const option = z.strictObject({
  label: z.string().min(1).max(200).describe('A few words'),
  description: z.string().max(1_000).optional().describe('What it means'),
});

const input = z.strictObject({
  question: z.string().min(1).max(4_000).describe('The question, complete and clear by itself'),
  options: z
    .array(option)
    .max(20)
    .refine((options) => new Set(options.map(({ label }) => label)).size === options.length, {
      message: 'each label must be unique',
    })
    .optional()
    .describe('Answers to choose from. Leave it out for a free answer'),
  multiple: z.boolean().optional(),
});

const description =
  'Asks the person you work for a question and waits for the answer. Use it only when you cannot continue without a decision or a fact that only this person has. Find out everything else yourself.';

/**
 * Creates a tool that lets the model ask the user a question.
 *
 * @example
 * ```ts
 * const inTerminal = askUserTool({ ask: async ({ question }) => readline.question(question) });
 * const onPage = askUserTool();
 * ```
 */
export function askUserTool({
  ask,
  name = 'ask_user',
}: AskUserOptions = {}): DefinedTool<string, AskUserInput> {
  return defineTool({
    name,
    description,
    input,
    effects: 'none',
    afterCrash: 'repeat',
    summarize: ({ question }) => `Ask: ${question.split('\n')[0]?.slice(0, 200)}`,
    execute: async ({ question, options = [], multiple = false }, context) => {
      const { signal } = context;
      signal.throwIfAborted();
      const asked = { question, options, multiple };
      const answer = ask === undefined ? askWithForm(asked, context) : ask(asked, signal);
      return outputOf(await abortable(answer, signal));
    },
  });
}

/** Asks with a form of the session. Any other text is possible beside the suggested answers. */
async function askWithForm(
  { question, options, multiple }: UserQuestion,
  { ask, signal }: ToolContext,
): Promise<UserAnswer> {
  if (ask === undefined) throw new Error('Nobody can be asked here');
  const other = { type: 'string', title: options.length === 0 ? 'Answer' : 'Another answer' };
  const titled = options.map(({ label, description: about }) => ({
    ...{ const: label, title: label },
    ...(about !== undefined && { description: about }),
  }));
  const answer: JsonObject = multiple
    ? { type: 'array', title: 'Answers', items: { anyOf: titled } }
    : { type: 'string', title: 'Answer', oneOf: titled };
  const properties = { ...(options.length > 0 && { answer }), other };
  const given = await ask({ message: question, schema: { type: 'object', properties } }, signal);
  if (given.action !== 'accept') return undefined;
  const { answer: chosen = [], other: text = [] } = given.content;
  const answers = [chosen, text].flat().filter((one) => typeof one === 'string');
  // A text of the user replaces one chosen answer, and is added to several.
  return multiple ? answers : answers.slice(-1);
}

const dismissed =
  'The person dismissed the question and gave no answer. Continue as you think best, or say what you need and stop.';

/** Returns the answer as a tool output. An empty answer counts as a dismissed question. */
function outputOf(answer: UserAnswer): ToolOutput {
  const answers = [answer ?? []].flat().filter((text) => text.trim() !== '');
  if (answers.length === 0) return { output: { text: dismissed, value: null } };
  const [only = '', ...others] = answers;
  const text = others.length === 0 ? only : answers.map((one) => `- ${one}`).join('\n');
  return { output: { text, value: answers } };
}
