import type { JsonValue } from '@millrace/core';
import type { ChangePreview } from '@millrace/tools';
import { cellWidth } from '../../text/cells/cell-width.ts';
import type { Ask, PendingApproval } from '../contract/dialog.ts';
import { count } from '../render/format-amounts.ts';
import { clipped, clippedStart, inRole, inTone, type Look, wrapped } from '../render/look.ts';

type ApprovalAsk = Extract<Ask, { readonly type: 'approval' }>;

/** What is asked, in a line or a few. */
export function titleLines(look: Look, ask: Ask): readonly string[] {
  const title = (text: string) =>
    `${inTone(look, 'mark', '?')} ${inRole(look, 'strong', clipped(text, look.width - 2))}`;
  switch (ask.type) {
    case 'approval':
      return [title(wishIn(look.width - 2, ask).text)];
    case 'question':
      return wrapped(look, ask.question.question).map((line, index) =>
        index === 0 ? title(line) : `  ${line}`,
      );
    case 'pick':
      return [title(ask.pick.title)];
  }
}

/** Whether the title says all of the command. */
export function isCommandTold(look: Look, ask: ApprovalAsk): boolean {
  return wishIn(look.width - 2, ask).isWhole;
}

interface Wish {
  readonly text: string;
  /** Nothing of what it is about was left out. */
  readonly isWhole: boolean;
}

/** What it wants to do and to what, in so many cells: what it is about goes before how many more there are. */
function wishIn(room: number, ask: ApprovalAsk): Wish {
  const { approval, others, isChild, preview } = ask;
  const who = isChild ? 'A sub-agent asks: ' : '';
  const [verb, subject, change, end] = partsOf(approval, preview);
  const isTight = cellWidth(`${who}${verb}${subject}${change}${end}`) > room;
  const isCramped = room - cellWidth(`${who}${verb}${change}${end}`) < leastSubject;
  const after = isTight && isCramped ? end : `${change}${end}`;
  const said = isChild ? lowerCase(verb) : verb;
  const more = others > 0 ? `  (${others} more after this)` : '';
  const around = cellWidth(`${who}${said}${after}`);
  const isRoomy = around + cellWidth(subject) + cellWidth(more) <= room;
  const left = Math.max(1, room - around - (isRoomy ? cellWidth(more) : 0));
  const isWhole = cellWidth(subject) <= left && !subject.includes('\n');
  const shown = approval.name === 'bash' ? clipped(subject, left) : clippedStart(subject, left);
  return { text: `${who}${said}${shown}${after}${isRoomy ? more : ''}`, isWhole };
}

/** What it is about has so much room before anything is said of what becomes of it. */
const leastSubject = 12;

type WishParts = readonly [before: string, subject: string, change: string, end: string];

function partsOf({ name, input }: PendingApproval, preview: ChangePreview | undefined): WishParts {
  const { command, path } = (input ?? {}) as {
    readonly command?: JsonValue;
    readonly path?: JsonValue;
  };
  if (name === 'bash' && typeof command === 'string') return ['Run `', command, '', '`?'];
  const verb = verbs.get(name);
  if (verb === undefined || typeof path !== 'string') return ['May ', name, '', ' run?'];
  const change = name === 'write' || name === 'edit' ? changeOf(name, preview) : '';
  return [`${verb} `, path, change, '?'];
}

/** What becomes of what is there. */
function changeOf(name: 'write' | 'edit', preview: ChangePreview | undefined): string {
  if (preview === undefined) return '';
  const { linesBefore, added, removed, problem } = preview;
  if (problem !== undefined) return name === 'write' ? ' (replaces what is there)' : '';
  if (name === 'edit') return ` (+${added} −${removed})`;
  return linesBefore === undefined ? ' (new)' : ` (replaces ${count(linesBefore, 'line')})`;
}

const verbs: ReadonlyMap<string, string> = new Map([
  ['read', 'Read'],
  ['ls', 'List'],
  ['grep', 'Search'],
  ['glob', 'Look through'],
  ['edit', 'Edit'],
  ['write', 'Write'],
]);

function lowerCase(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
