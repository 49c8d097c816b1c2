import type { Item } from '@millrace/core';
import { keptText, openTasks, withoutTags } from './todo-tool.ts';

/** Maximum length of a request in a summary, in characters. The middle of a longer request is left out. */
const maxRequestLength = 4000;

/**
 * Returns the first request of the user, the current request and the open tasks, as a text for the model. It
 * is for `compaction.keep`: each summary then ends with this text, however often the session is compacted and
 * whatever the model writes. Returns undefined if there is nothing to keep.
 *
 * @example
 * createAgent({ provider, tools: [todoTool()], compaction: { whenTokens: 100_000, keep: keepGoal } });
 */
export function keepGoal(items: readonly Item[]): string | undefined {
  const summaries = items.filter(({ kind }) => kind === 'context').map(textOf);
  const requests = items.filter(({ kind }) => kind === 'user').map(textOf);
  const kept = (tag: 'first_request' | 'current_request') =>
    summaries.map((summary) => keptText(summary, tag)).findLast((text) => text !== undefined);
  const [asked] = requests.filter((text) => text !== '');
  const last = requests.findLast((text) => text !== '');
  const first = kept('first_request') ?? (asked && tagged('first_request', asked));
  const current = last === undefined ? kept('current_request') : tagged('current_request', last);
  const isSame = first !== undefined && contentOf(first) === contentOf(current ?? '');
  const all = [first, isSame ? undefined : current, openTasks(items)];
  const text = all.filter((one) => one !== undefined).join('\n');
  return text === '' ? undefined : text;
}

/** The first text of a message is the request. The others are attached files and notes. */
function textOf({ parts }: Item): string {
  for (const part of parts) if (part.kind === 'text') return part.text.trim();
  return '';
}

function tagged(tag: 'first_request' | 'current_request', request: string): string {
  return `<${tag}>\n${clipped(withoutTags(request))}\n</${tag}>`;
}

function contentOf(text: string): string {
  return text.split('\n').slice(1, -1).join('\n');
}

function clipped(text: string): string {
  if (text.length <= maxRequestLength) return text;
  const half = maxRequestLength / 2;
  const leftOut = text.length - maxRequestLength;
  return `${text.slice(0, half)}\n[… ${leftOut} characters …]\n${text.slice(-half)}`.toWellFormed();
}
