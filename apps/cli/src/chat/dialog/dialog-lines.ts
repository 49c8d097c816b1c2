import { cellWidth } from '../../text/cells/cell-width.ts';
import type { Ask, ChoiceList, PendingApproval } from '../contract/dialog.ts';
import { diffBody, inputDiff, margin } from '../render/call-body.ts';
import { count } from '../render/format-amounts.ts';
import { clipped, fitted, inRole, inTone, type Look, wrapped } from '../render/look.ts';
import { isCommandTold, titleLines } from './dialog-title.ts';

/** Of the choices so many are seen in any case; the keys go through the others. */
const leastChoices = 3;

/** An ask as it is shown, in at most so many lines: what it is, its choices, why, then what it would do. */
export function askLines(look: Look, ask: Ask, list: ChoiceList, room: number): readonly string[] {
  const title = titleLines(look, ask).slice(0, Math.max(1, room));
  const { subject, reason } = askBody(look, ask);
  const rest = Math.max(0, room - title.length);
  // That there is more to see is told in any case.
  const wanted = Math.min(subject.length, 1);
  const least = Math.min(list.items.length, leastChoices);
  const choices = choiceLines(look, list, Math.min(rest, Math.max(least, rest - wanted)));
  const left = Math.max(0, rest - choices.length);
  const why = reason.slice(0, left);
  const body = bothEnds(subject, left - why.length, (hidden) =>
    inTone(look, 'dim', `${margin}… ${count(hidden, 'line')} not shown: v shows all`),
  );
  return fitted(look, [...title, ...body, ...why, ...choices]);
}

/** The first and the last of them, and between them how many are not shown. */
function bothEnds(
  lines: readonly string[],
  room: number,
  note: (hidden: number) => string,
): readonly string[] {
  if (lines.length <= room) return lines;
  if (room <= 0) return [];
  const head = Math.ceil((room - 1) / 2);
  const tail = room - 1 - head;
  const hidden = lines.length - head - tail;
  return [...lines.slice(0, head), note(hidden), ...lines.slice(lines.length - tail)];
}

function choiceLines(look: Look, list: ChoiceList, room: number): readonly string[] {
  const { items, selected, ticked } = list;
  const first = Math.max(0, Math.min(selected - Math.floor(room / 2), items.length - room));
  return items.slice(first, first + room).map((item, index) => {
    const place = first + index;
    const isSelected = place === selected;
    const tick = ticked === undefined ? '' : ticked.has(place) ? '[x] ' : '[ ] ';
    const key = item.letter === undefined ? '' : ` (${item.letter})`;
    const label = clipped(`${tick}${item.label}${key}`, look.width - 2);
    const room = look.width - 2 - cellWidth(label) - 2;
    const detail = item.detail === undefined || room < 4 ? '' : `  ${clipped(item.detail, room)}`;
    const painted = isSelected ? inRole(look, 'strong', label) : label;
    return `${isSelected ? inRole(look, 'marker', '›') : ' '} ${painted}${inTone(look, 'dim', detail)}`;
  });
}

/** All of what an approval is about, for the scrollback. */
export function askedInFull(
  look: Look,
  ask: Extract<Ask, { readonly type: 'approval' }>,
): readonly string[] {
  const lines = subjectLines(look, ask);
  const end = lines.length === 0 ? [] : [inTone(look, 'dim', '  that is all of it')];
  return [...titleLines(look, { ...ask, others: 0 }), ...lines, ...end];
}

type ApprovalAsk = Extract<Ask, { readonly type: 'approval' }>;

interface AskBody {
  /** What it would do, all of it. */
  readonly subject: readonly string[];
  readonly reason: readonly string[];
}

const nothing: AskBody = { subject: [], reason: [] };

/** A long change is drawn often while somebody reads it. */
const known = new WeakMap<object, { readonly look: Look; readonly lines: readonly string[] }>();

/** What an ask is about, below its title. */
function askBody(look: Look, ask: Ask): AskBody {
  if (ask.type !== 'approval') return nothing;
  const { approval, preview } = ask;
  const why = approval.reason === undefined ? [] : wrapped(look, approval.reason, '  ');
  const problem = preview?.problem === undefined ? [] : wrapped(look, preview.problem, '  ');
  return {
    subject: approval.name === 'bash' && isCommandTold(look, ask) ? [] : subjectLines(look, ask),
    reason: [
      ...problem.map((line) => inTone(look, 'bad', line)),
      ...why.map((line) => inTone(look, 'dim', line)),
    ],
  };
}

/** All of what an approval is about, with nothing left out. */
function subjectLines(look: Look, ask: ApprovalAsk): readonly string[] {
  const key = ask.preview ?? ask.approval;
  const before = known.get(key);
  if (before?.look.width === look.width && before.look.theme === look.theme) return before.lines;
  const lines = drawn(look, ask);
  known.set(key, { look, lines });
  return lines;
}

/** The title says that. */
function isPathAlone({ name, input }: PendingApproval): boolean {
  const isLooking = name === 'read' || name === 'ls' || name === 'glob';
  return isLooking && Object.keys(input ?? {}).join() === 'path';
}

function drawn(look: Look, { approval, preview }: ApprovalAsk): readonly string[] {
  const { name, input } = approval;
  const diff = preview?.diff || inputDiff(name, input);
  if (diff !== undefined) return diffBody(look, diff, Number.POSITIVE_INFINITY);
  if (input === undefined || isPathAlone(approval)) return [];
  const { command } = (input ?? {}) as { readonly command?: unknown };
  const isCommand = name === 'bash' && typeof command === 'string';
  return wrapped(look, isCommand ? `$ ${command}` : JSON.stringify(input, null, 2), margin);
}
