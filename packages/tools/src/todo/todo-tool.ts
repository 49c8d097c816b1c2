import { type DefinedTool, defineTool } from '@millrace/agent';
import { type Item, type JsonValue, parseJson } from '@millrace/core';
import { z } from 'zod';

/** One task of the list that the model keeps. */
export interface TodoTask {
  readonly text: string;
  readonly state: TodoState;
}

/** The state of a task. `doing` means that the model works on it now. */
export type TodoState = 'open' | 'doing' | 'done';

/** The input that the model sends: the whole list. */
export interface TodoInput {
  readonly tasks: readonly TodoTask[];
}

const maxTasks = 50;
const maxTextLength = 200;

// The lengths are checked in `refine`, so that the schema in each request stays short.
const input = z.object({
  tasks: z
    .array(z.object({ text: z.string(), state: z.enum(['open', 'doing', 'done']) }))
    .refine((tasks) => tasks.length <= maxTasks, `at most ${maxTasks} tasks are possible`)
    .refine(
      (tasks) => tasks.every(({ text }) => text !== '' && text.length <= maxTextLength),
      `each text must have 1 to ${maxTextLength} characters`,
    ),
});

const toolName = 'todo';
const description =
  'Sets the task list that the person sees. Use it for work with three or more steps, and again when a task starts or ends. Each call replaces the list.';

/**
 * Creates a tool with which the model keeps a task list. The list is the input of the last call, so it needs
 * no storage besides the log. Give the tool only to the main agent. The sessions of sub-agents are separate.
 *
 * @example createAgent({ provider, tools: [todoTool()], compaction: { whenTokens: 100_000, keep: openTasks } });
 */
export function todoTool(): DefinedTool<string, TodoInput> {
  return defineTool({
    name: toolName,
    description,
    input,
    effects: 'none',
    afterCrash: 'repeat',
    summarize: ({ tasks }) => `Tasks: ${progressOf(tasks)}`,
    execute: async ({ tasks }) => progressOf(tasks),
  });
}

function progressOf(tasks: readonly TodoTask[]): string {
  if (tasks.length === 0) return 'The list is empty';
  return `${tasks.filter(({ state }) => state === 'done').length} of ${tasks.length} done`;
}

/** Returns the tasks of a call of the tool. Returns undefined if the input is invalid. */
export function readTodo(value: JsonValue | undefined): readonly TodoTask[] | undefined {
  const { success, data } = input.safeParse(value);
  return success ? data.tasks : undefined;
}

const tag = 'open_tasks';

/**
 * Returns the open tasks as a text for the model. It is for `compaction.keep`, so that a summary never loses
 * a task. If the last call of the tool is not among the items, the text comes from the earlier summary.
 * Returns undefined if there are no open tasks.
 */
export function openTasks(items: readonly Item[]): string | undefined {
  const parts = items.flatMap((item) => item.parts.map((part) => ({ part, of: item.kind })));
  const failed = new Set(
    parts.flatMap(({ part }) =>
      part.kind === 'tool_result' && part.isError ? part.toolCallId : [],
    ),
  );
  for (const { part, of } of parts.toReversed()) {
    // Only a summary has the kind `context`. The same text in any other message does not count.
    if (of === 'context' && part.kind === 'text' && part.text.includes(`<${tag}>`))
      return keptText(part.text, tag);
    if (part.kind !== 'tool_call' || part.name !== toolName || failed.has(part.toolCallId))
      continue;
    const read = parseJson(part.arguments);
    const tasks = read.ok ? readTodo(read.value) : undefined;
    if (tasks !== undefined) return tasksText(tasks);
  }
  return undefined;
}

function tasksText(tasks: readonly TodoTask[]): string | undefined {
  const open = tasks.filter(({ state }) => state !== 'done');
  if (open.length === 0) return undefined;
  const lines = open.map(
    ({ text, state }) => `- ${state === 'doing' ? '(in work) ' : ''}${withoutTags(text)}`,
  );
  return [`<${tag}>`, ...lines, `</${tag}>`].join('\n');
}

/** The names of the tags that mark kept texts in a summary. */
type KeptTag = 'open_tasks' | 'first_request' | 'current_request';

/**
 * Returns the text with its tags that an earlier compaction added to a summary. Kept texts are at the end of a
 * summary, so the last one counts. The model can repeat or invent such a text only before it.
 */
export function keptText(summary: string, tag: KeptTag): string | undefined {
  const [open, close] = [`<${tag}>`, `</${tag}>`];
  const start = summary.lastIndexOf(open);
  const end = summary.indexOf(close, start);
  return start === -1 || end === -1 ? undefined : summary.slice(start, end + close.length);
}

/** Changes the tags in a text, so that the text cannot end its own tag or imitate a different one. */
export function withoutTags(text: string): string {
  return text.replaceAll(/<(\/?)(open_tasks|first_request|current_request)>/g, '<$1 $2>');
}
