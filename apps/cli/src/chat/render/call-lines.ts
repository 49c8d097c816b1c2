import { type JsonValue, PartialJson } from '@millrace/core';
import { cellWidth } from '../../text/cells/cell-width.ts';
import type { ArgumentsDraft, CardPhase, ToolCard } from '../contract/tool-card.ts';
import { lastLines } from '../state/tool-card.ts';
import { callBody, callExtra, margin } from './call-body.ts';
import { count, duration } from './format-amounts.ts';
import { clipped, clippedLines, inRole, inTone, type Look } from './look.ts';

/** Of what a call prints while it runs. */
const outputLines = 6;
const draftLines = 3;

/** A call that is over, as it is printed. */
export function finishedCall(look: Look, card: ToolCard): readonly string[] {
  return [titleLine(look, card, undefined), ...callBody(look, card)];
}

export interface Moment {
  readonly now: number;
  /** Of the spinner. */
  readonly frame: string;
}

/** A call that is written, waits or runs. */
export function liveCall(
  look: Look,
  card: ToolCard,
  moment: Moment,
  most: number = outputLines,
): readonly string[] {
  return [titleLine(look, card, moment), ...liveBody(look, card, Math.min(most, outputLines))];
}

function titleLine(look: Look, card: ToolCard, moment: Moment | undefined): string {
  const { phase } = card;
  const took = takenMs(card, moment?.now);
  const words = [callExtra(card), stateOf(phase), took === undefined ? undefined : duration(took)];
  const end = words.filter((word) => word !== undefined).join(' · ');
  const room = look.width - 2 - (end === '' ? 0 : cellWidth(end) + 2);
  const title = clipped(callTitle(card), room);
  const mark = markOf(look, phase, moment?.frame);
  return `${mark} ${inRole(look, 'strong', title)}${end === '' ? '' : inTone(look, 'dim', `  ${end}`)}`;
}

function stateOf(phase: CardPhase): string | undefined {
  switch (phase) {
    case 'writing':
    case 'running':
    case 'done':
      return undefined;
    case 'ready':
      return 'waits';
    case 'asking':
      return 'may it run?';
    case 'failed':
      return 'failed';
    case 'stopped':
      return 'stopped';
    case 'unstarted':
    case 'rejected':
      return 'not run';
    case 'lost':
      return 'nobody knows what became of it';
  }
}

/** What is over in an instant needs no time told. */
const shortMs = 100;

function takenMs({ startedAt, finishedAt }: ToolCard, now: number | undefined): number | undefined {
  const end = finishedAt ?? now;
  if (startedAt === undefined || end === undefined) return undefined;
  const took = end - startedAt;
  return took < shortMs ? undefined : took;
}

function markOf(look: Look, phase: CardPhase, frame = '•'): string {
  switch (phase) {
    case 'done':
      return inTone(look, 'good', '✓');
    case 'failed':
    case 'lost':
      return inTone(look, 'bad', '✗');
    case 'stopped':
      return inTone(look, 'mark', '■');
    case 'unstarted':
    case 'rejected':
      return inTone(look, 'mark', '✗');
    case 'asking':
      return inTone(look, 'mark', '?');
    case 'ready':
      return inTone(look, 'dim', '•');
    case 'writing':
    case 'running':
      return inTone(look, 'mark', frame);
  }
}

function liveBody(look: Look, { phase, output, draft }: ToolCard, most: number): readonly string[] {
  const dim = (lines: readonly string[]) =>
    clippedLines(look, lines, margin).map((line) => inTone(look, 'dim', line));
  if (phase === 'writing') return dim(draftEnd(draft));
  if (phase !== 'running') return [];
  if (most <= 0) return [];
  const { lines, above } = lastLines(output, most);
  return dim(above === 0 ? lines : [`… ${count(above, 'line')} above`, ...lines]);
}

/** The last of the arguments, where there is more than the title says: mostly a file's content. */
function draftEnd(draft: ArgumentsDraft): readonly string[] {
  const { tail } = draft;
  const text =
    tail === ''
      ? (draftedText(draft) ?? '')
      : tail.replaceAll('\\n', '\n').replaceAll('\\t', '  ').replaceAll('\\"', '"');
  return text === '' ? [] : text.split('\n').slice(-draftLines);
}

/** What a call does, in one line: in the tool's own words or, before it has any, by its input. */
function callTitle({ name, summary, input, draft }: ToolCard): string {
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
function draftedText(draft: ArgumentsDraft): string | undefined {
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
