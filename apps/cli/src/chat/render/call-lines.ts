import { type JsonValue, PartialJson } from '@millrace/core';
import { cellWidth } from '../../text/cells/cell-width.ts';
import { withoutStyles } from '../../text/cells/printable.ts';
import type { ArgumentsDraft, CardPhase, ToolCard } from '../contract/tool-card.ts';
import { lastLines } from '../state/tool-card.ts';
import { callBody, callDetail, marginOf } from './call-body.ts';
import { formatCount, formatDuration } from './format-amounts.ts';
import { clipEach, clipText, type Look, withRole, withTone } from './look.ts';

/** Maximum number of output lines that a running call shows. */
const maxOutputLines = 6;
const maxDraftLines = 3;

/** Draws a finished call for the scrollback. */
export function finishedCall(look: Look, card: ToolCard): readonly string[] {
  return [titleLine(look, card, undefined), ...callBody(look, card)];
}

export interface Moment {
  readonly now: number;
  /** The current spinner frame. */
  readonly frame: string;
}

/** Draws an unfinished call: the model is writing it, it waits, or it runs. */
export function liveCall(
  look: Look,
  card: ToolCard,
  moment: Moment,
  maxLines: number = maxOutputLines,
): readonly string[] {
  return [
    titleLine(look, card, moment),
    ...liveBody(look, card, Math.min(maxLines, maxOutputLines)),
  ];
}

function titleLine(look: Look, card: ToolCard, moment: Moment | undefined): string {
  const { phase } = card;
  const took = elapsedMs(card, moment?.now);
  if (look.isPlain === true) return plainTitle(look, card, took);
  const words = [
    callDetail(card),
    phaseText(phase),
    took === undefined ? undefined : formatDuration(took),
  ];
  const end = words.filter((word) => word !== undefined).join(' · ');
  const room = look.width - 2 - (end === '' ? 0 : cellWidth(end) + 2);
  const title = clipText(callTitle(card), room);
  const mark = phaseMark(look, phase, moment?.frame);
  return `${mark} ${withRole(look, 'strong', title)}${end === '' ? '' : withTone(look, 'dim', `  ${end}`)}`;
}

function plainTitle(look: Look, card: ToolCard, took: number | undefined): string {
  const words = [
    phaseText(card.phase) ?? (card.phase === 'running' ? 'running' : 'done'),
    callDetail(card),
    took === undefined ? undefined : formatDuration(took),
  ];
  const title = withRole(look, 'strong', clipText(callTitle(card), look.width));
  return `Tool: ${title}: ${words.filter((word) => word !== undefined).join(', ')}`;
}

function phaseText(phase: CardPhase): string | undefined {
  switch (phase) {
    case 'writing':
    case 'running':
    case 'done':
      return undefined;
    case 'ready':
      return 'waiting';
    case 'asking':
      return 'needs approval';
    case 'failed':
      return 'failed';
    case 'stopped':
      return 'stopped';
    case 'unstarted':
    case 'rejected':
      return 'not run';
    case 'lost':
      return 'outcome unknown';
  }
}

/** Shorter durations are not shown. */
const minShownMs = 100;

function elapsedMs(
  { startedAt, finishedAt }: ToolCard,
  now: number | undefined,
): number | undefined {
  const end = finishedAt ?? now;
  if (startedAt === undefined || end === undefined) return undefined;
  const took = end - startedAt;
  return took < minShownMs ? undefined : took;
}

function phaseMark(look: Look, phase: CardPhase, frame = '•'): string {
  switch (phase) {
    case 'done':
      return withTone(look, 'good', '✓');
    case 'failed':
    case 'lost':
      return withTone(look, 'bad', '✗');
    case 'stopped':
      return withTone(look, 'mark', '■');
    case 'unstarted':
    case 'rejected':
      return withTone(look, 'mark', '✗');
    case 'asking':
      return withTone(look, 'mark', '?');
    case 'ready':
      return withTone(look, 'dim', '•');
    case 'writing':
    case 'running':
      return withTone(look, 'mark', frame);
  }
}

function liveBody(
  look: Look,
  { phase, output, draft }: ToolCard,
  maxLines: number,
): readonly string[] {
  const dim = (lines: readonly string[]) =>
    clipEach(look, lines, marginOf(look)).map((line) => withTone(look, 'dim', line));
  if (phase === 'writing') return dim(draftEnd(draft));
  if (phase !== 'running') return [];
  if (maxLines <= 0) return [];
  const { lines, above } = lastLines({ ...output, text: withoutStyles(output.text) }, maxLines);
  return dim(above === 0 ? lines : [`… ${formatCount(above, 'line')} above`, ...lines]);
}

/**
 * Returns the last lines of the arguments if the title does not show all of them. Usually these
 * lines are the content of a file.
 */
function draftEnd(draft: ArgumentsDraft): readonly string[] {
  const { tail } = draft;
  const text =
    tail === ''
      ? (draftText(draft) ?? '')
      : tail.replaceAll('\\n', '\n').replaceAll('\\t', '  ').replaceAll('\\"', '"');
  return text === '' ? [] : text.split('\n').slice(-maxDraftLines);
}

/**
 * Describes a call in one line. Uses the summary of the tool. Until there is a summary, it uses the
 * input.
 */
function callTitle({ name, summary, input, draft }: ToolCard): string {
  if (summary !== undefined) return name === 'bash' ? `$ ${summary}` : summary;
  const known = input ?? draftValue(draft);
  const subject = subjectOf(known);
  if (name === 'bash' && subject !== undefined) return `$ ${subject}`;
  const verb = verbs.get(name) ?? name;
  return subject === undefined ? verb : `${verb} ${subject}`;
}

/** The verbs for the titles of calls. The tools use the same verbs in their summaries. */
const verbs: ReadonlyMap<string, string> = new Map([
  ['read', 'Read'],
  ['ls', 'List'],
  ['grep', 'Search for'],
  ['glob', 'Find files'],
  ['edit', 'Edit'],
  ['write', 'Write'],
]);

/**
 * Parses the arguments that have arrived so far. The result is only displayed. Tools never receive
 * it.
 */
function draftValue({ head }: ArgumentsDraft): JsonValue | undefined {
  const json = new PartialJson();
  json.feed(head);
  return json.value;
}

/**
 * Returns the string that the model is writing now. Returns undefined if the title already shows
 * it.
 */
function draftText(draft: ArgumentsDraft): string | undefined {
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

/** The names of input fields that describe a call, the most important first. */
const subjectFields = ['command', 'pattern', 'path', 'query', 'url', 'question', 'task', 'name'];

function subjectOf(input: JsonValue | undefined): string | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return undefined;
  const fields = input as Readonly<Record<string, JsonValue>>;
  const named = subjectFields.map((key) => fields[key]).find((value) => typeof value === 'string');
  const any = Object.values(fields).find((value) => typeof value === 'string');
  const subject = named ?? any;
  return typeof subject === 'string' && subject !== '' ? subject : undefined;
}
