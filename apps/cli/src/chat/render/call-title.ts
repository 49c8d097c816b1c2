import { type JsonValue, PartialJson } from '@millrace/core';
import type { ArgumentsDraft } from '../state/arguments-draft.ts';
import type { ToolCard } from '../state/tool-card.ts';

/** What a call does, in one line: in the tool's own words or, before it has any, by its input. */
export function callTitle({ name, summary, input, draft }: ToolCard): string {
  if (summary !== undefined) return name === 'bash' ? `$ ${summary}` : summary;
  const known = input ?? draftValue(draft);
  const subject = subjectOf(known);
  if (name === 'bash' && subject !== undefined) return `$ ${subject}`;
  return subject === undefined ? name : `${name} ${subject}`;
}

/** As much of the arguments as is there. Looked at, never run. */
function draftValue({ head }: ArgumentsDraft): JsonValue | undefined {
  const json = new PartialJson();
  json.feed(head);
  return json.value;
}

/** What tools are mostly about, the most telling first. */
const subjects = ['command', 'path', 'pattern', 'query', 'url', 'question', 'task', 'name'];

function subjectOf(input: JsonValue | undefined): string | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return undefined;
  const fields = input as Readonly<Record<string, JsonValue>>;
  const named = subjects.map((key) => fields[key]).find((value) => typeof value === 'string');
  const any = Object.values(fields).find((value) => typeof value === 'string');
  const subject = named ?? any;
  return typeof subject === 'string' && subject !== '' ? subject : undefined;
}
