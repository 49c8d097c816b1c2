import { type DefinedTool, defineTool, type ToolOutput } from '@millrace/agent';
import { z } from 'zod';
import { abortable } from '../abortable.ts';

/** A question of the model to the person it works for. */
export interface Question {
  readonly question: string;
  /** Answers to choose from; none where any text will do. People may answer otherwise all the same. */
  readonly options: readonly {
    readonly label: string;
    readonly description?: string | undefined;
  }[];
  /** Whether several of the options may be chosen. */
  readonly multiple: boolean;
}

/** A text or a chosen label, several of them, or undefined where the question was dismissed. */
export type Answer = string | readonly string[] | undefined;

export interface AskUserOptions {
  /** Shows the question and waits for the answer. It aborts when the question is not needed any more. */
  ask(question: Question, signal: AbortSignal): Promise<Answer>;
  /** `ask_user`, unless you say otherwise. */
  readonly name?: string | undefined;
}

/** What the model gives. */
export interface AskUserInput {
  readonly question: string;
  readonly options?: Question['options'] | undefined;
  readonly multiple?: boolean | undefined;
}

const option = z.strictObject({
  label: z.string().min(1).max(200).describe('The answer, in a few words'),
  description: z.string().max(1_000).optional().describe('What it means to choose this'),
});

const input = z.strictObject({
  question: z.string().min(1).max(4_000).describe('The question, complete and clear by itself'),
  options: z
    .array(option)
    .max(20)
    .refine((options) => new Set(options.map(({ label }) => label)).size === options.length, {
      message: 'each label must be another one',
    })
    .optional()
    .describe('Answers to choose from. Leave it out for a free answer'),
  multiple: z.boolean().optional().describe('Whether several options may be chosen'),
});

const description =
  'Asks the person you work for a question and waits for the answer. Use it when you cannot go on without a decision or a fact that only they have; find out by yourself what can be found out.';

/**
 * Lets the model ask the person something.
 *
 * @example
 * const askUser = askUserTool({ ask: async ({ question }) => readline.question(question) });
 */
export function askUserTool({
  ask,
  name = 'ask_user',
}: AskUserOptions): DefinedTool<string, AskUserInput> {
  return defineTool({
    name,
    description,
    input,
    effects: 'none',
    replay: 'safe',
    summarize: ({ question }) => `Ask: ${question.split('\n')[0]?.slice(0, 200)}`,
    execute: async ({ question, options = [], multiple = false }, { signal }) => {
      signal.throwIfAborted();
      return outputOf(await abortable(ask({ question, options, multiple }, signal), signal));
    },
  });
}

const dismissed =
  'The person dismissed the question and gave no answer. Go on as you think best, or say what you need and stop.';

/** The words of the person as they are; an empty answer is none. */
function outputOf(answer: Answer): ToolOutput {
  const answers = [answer ?? []].flat().filter((text) => text.trim() !== '');
  if (answers.length === 0) return { output: { text: dismissed, value: null } };
  const [only = '', ...others] = answers;
  const text = others.length === 0 ? only : answers.map((one) => `- ${one}`).join('\n');
  return { output: { text, value: answers } };
}
