import { type JsonValue, PartialJson } from '@millrace/core';
import type { ArgumentsDraft } from '../state/arguments-draft.ts';
import type { ToolCard } from '../state/tool-card.ts';

/** What a call does, in one line: in the tool's own words or, before it has any, by its input. */
export function callTitle({ name, summary, input, draft }: ToolCard): string {
  if (summary !== undefined) return name === 'bash' ? `$ ${summary}` : summary;
  const known = input ?? draftValue(draft);
  const subject = subjectOf(known);
  if (name === 'bash' && subject !== undefined) return `$ ${subject}`;
  const verb = verbs.get(name) ?? name;
  return subject === undefined ? verb : `${verb} ${subject}`;
}

/** As those tools say it themselves when they begin. */
const verbs: ReadonlyMap<string, string> = new Map([
  ['read', 'Read'],
  ['ls', 'List'],
  ['grep', 'Search for'],
  ['glob', 'Find files'],
  ['edit', 'Edit'],
  ['write', 'Write'],
]);

/** As much of the arguments as is there. Looked at, never run. */
function draftValue({ head }: ArgumentsDraft): JsonValue | undefined {
  const json = new PartialJson();
  json.feed(head);
  return json.value;
}

/** The text that is being written, where it is not what the title says. */
export function draftedText(draft: ArgumentsDraft): string | undefined {
  const value = draftValue(draft);
  const last = lastText(value);
  return last === subjectOf(value) ? undefined : last;
}

function lastText(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null
    ? lastText(Object.values(value).at(-1))
    : undefined;
}

/** What tools are mostly about, the most telling first. */
const subjects = ['command', 'pattern', 'path', 'query', 'url', 'question', 'task', 'name'];

function subjectOf(input: JsonValue | undefined): string | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return undefined;
  const fields = input as Readonly<Record<string, JsonValue>>;
  const named = subjects.map((key) => fields[key]).find((value) => typeof value === 'string');
  const any = Object.values(fields).find((value) => typeof value === 'string');
  const subject = named ?? any;
  return typeof subject === 'string' && subject !== '' ? subject : undefined;
}
