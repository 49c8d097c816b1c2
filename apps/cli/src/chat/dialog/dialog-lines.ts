import { cellWidth } from '../../text/cells/cell-width.ts';
import type { ApprovalDialog, ChoiceList, Dialog, PendingApproval } from '../contract/dialog.ts';
import { diffBody, inputDiff, margin } from '../render/call-body.ts';
import { formatCount } from '../render/format-amounts.ts';
import { clipText, fitLines, type Look, withRole, withTone, wrapText } from '../render/look.ts';
import { dialogTitle, isCommandInTitle } from './dialog-title.ts';

/** At least this many choices are visible. The keys reach the others. */
const minChoices = 3;

/** Draws a dialog in at most `room` lines. Title, choices and reason come before the content. */
export function dialogLines(
  look: Look,
  dialog: Dialog,
  list: ChoiceList,
  room: number,
): readonly string[] {
  const title = dialogTitle(look, dialog).slice(0, Math.max(1, room));
  const { subject, reason } = dialogBody(look, dialog);
  const rest = Math.max(0, room - title.length);
  // One line is reserved to tell that there is more content.
  const wanted = Math.min(subject.length, 1);
  const least = Math.min(list.items.length, minChoices);
  const choices = choiceLines(look, list, Math.min(rest, Math.max(least, rest - wanted)));
  const left = Math.max(0, rest - choices.length);
  const why = reason.slice(0, left);
  const body = headAndTail(subject, left - why.length, (hidden) =>
    withTone(look, 'dim', `${margin}… ${formatCount(hidden, 'line')} not shown: v shows all`),
  );
  return fitLines(look, [...title, ...body, ...why, ...choices]);
}

/** Returns the first and the last lines, with a note between them about the hidden ones. */
function headAndTail(
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
    const position = first + index;
    const isSelected = position === selected;
    const tick = ticked === undefined ? '' : ticked.has(position) ? '[x] ' : '[ ] ';
    const key = item.letter === undefined ? '' : ` (${item.letter})`;
    const label = clipText(`${tick}${item.label}${key}`, look.width - 2);
    const room = look.width - 2 - cellWidth(label) - 2;
    const detail = item.detail === undefined || room < 4 ? '' : `  ${clipText(item.detail, room)}`;
    const painted = isSelected ? withRole(look, 'strong', label) : label;
    return `${isSelected ? withRole(look, 'marker', '›') : ' '} ${painted}${withTone(look, 'dim', detail)}`;
  });
}

/** Draws the full content of an approval for the scrollback. */
export function fullDialogLines(look: Look, dialog: ApprovalDialog): readonly string[] {
  const lines = subjectLines(look, dialog);
  const end = lines.length === 0 ? [] : [withTone(look, 'dim', '  (end)')];
  return [...dialogTitle(look, { ...dialog, others: 0 }), ...lines, ...end];
}

interface DialogBody {
  /** The full content of the request. */
  readonly subject: readonly string[];
  readonly reason: readonly string[];
}

const emptyBody: DialogBody = { subject: [], reason: [] };

/** A long change is drawn many times while the user reads it, so its lines are cached. */
const linesCache = new WeakMap<
  object,
  { readonly look: Look; readonly lines: readonly string[] }
>();

/** The content of a dialog below its title. */
function dialogBody(look: Look, dialog: Dialog): DialogBody {
  if (dialog.type !== 'approval') return emptyBody;
  const { approval, preview } = dialog;
  const why = approval.reason === undefined ? [] : wrapText(look, approval.reason, '  ');
  const problem = preview?.problem === undefined ? [] : wrapText(look, preview.problem, '  ');
  return {
    subject:
      approval.name === 'bash' && isCommandInTitle(look, dialog) ? [] : subjectLines(look, dialog),
    reason: [
      ...problem.map((line) => withTone(look, 'bad', line)),
      ...why.map((line) => withTone(look, 'dim', line)),
    ],
  };
}

/** Draws the content of an approval without cuts. */
function subjectLines(look: Look, dialog: ApprovalDialog): readonly string[] {
  const key = dialog.preview ?? dialog.approval;
  const before = linesCache.get(key);
  if (before?.look.width === look.width && before.look.theme === look.theme) return before.lines;
  const lines = drawSubject(look, dialog);
  linesCache.set(key, { look, lines });
  return lines;
}

/** The title already shows the path. */
function isPathAlone({ name, input }: PendingApproval): boolean {
  const isLooking = name === 'read' || name === 'ls' || name === 'glob';
  return isLooking && Object.keys(input ?? {}).join() === 'path';
}

function drawSubject(look: Look, { approval, preview }: ApprovalDialog): readonly string[] {
  const { name, input } = approval;
  const diff = preview?.diff || inputDiff(name, input);
  if (diff !== undefined) return diffBody(look, diff, Number.POSITIVE_INFINITY);
  if (input === undefined || isPathAlone(approval)) return [];
  const { command } = (input ?? {}) as { readonly command?: unknown };
  const isCommand = name === 'bash' && typeof command === 'string';
  return wrapText(look, isCommand ? `$ ${command}` : JSON.stringify(input, null, 2), margin);
}
