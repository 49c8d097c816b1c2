import { isAbsolute, relative, resolve, sep } from 'node:path';
import type { JsonValue } from '@millrace/core';
import { type ChangePreview, judgedPath } from '@millrace/tools';
import { cellWidth } from '../../text/cells/cell-width.ts';
import { revealHidden, revealInProse } from '../../text/cells/reveal-hidden.ts';
import { asciiTexts } from '../../text/terminal/ascii-terminal.ts';
import type { ApprovalDialog, Dialog, PickList } from '../contract/dialog.ts';
import { formatCount } from '../render/format-amounts.ts';
import {
  clipText,
  clipTextStart,
  type Look,
  withRole,
  withTone,
  wrapText,
} from '../render/look.ts';

/** Draws the title of a dialog in one or more lines. */
export function dialogTitle(look: Look, given: Dialog): readonly string[] {
  const dialog = shownDialog(look, given);
  const sign = look.isPlain === true ? 'Question:' : '?';
  const title = (text: string) =>
    `${withTone(look, 'mark', sign)} ${withRole(look, 'strong', clipText(text, look.width - 2))}`;
  switch (dialog.type) {
    case 'approval':
      return [title(requestTitle(look.width - 2, dialog).text)];
    case 'confirm':
    case 'question': {
      const text =
        dialog.type === 'confirm' ? dialog.title : revealInProse(dialog.question.question);
      return wrapText({ ...look, width: look.width - 2 }, text).map((line, index) =>
        index === 0 ? title(line) : `  ${line}`,
      );
    }
    case 'pick':
      return pickTitle(look.width - 2, dialog.pick).flatMap((text, index) =>
        index === 0
          ? title(text)
          : wrapText(look, text, '  ').map((line) => withTone(look, 'dim', line)),
      );
  }
}

/** Returns the dialog with the texts that the terminal can show. The answer is still about the given dialog. */
export function shownDialog<Shown extends Dialog>(look: Look, dialog: Shown): Shown {
  return look.isAscii === true && dialog.type !== 'pick' ? asciiTexts(dialog) : dialog;
}

/**
 * Returns the title of a list. A typed filter is more important than the title, and the title than other hints.
 * The keys of a list with an unusual key get a line of their own if they do not fit.
 */
function pickTitle(room: number, { title, hint = '', edit }: PickList): readonly string[] {
  const whole = hint === '' ? title : `${title}  ${hint}`;
  if (cellWidth(whole) <= room) return [whole];
  if (hint.includes('“')) return [hint];
  return edit === undefined ? [title] : [title, hint];
}

/**
 * Returns the command, path or tool of a request if the title does not show all of it. The text is
 * not modified: hidden characters stay hidden.
 */
export function clippedSubject(look: Look, dialog: ApprovalDialog): string | undefined {
  const [, subject] = titleParts(dialog);
  return requestTitle(look.width - 2, dialog).isWhole ? undefined : subject;
}

interface RequestTitle {
  readonly text: string;
  /** True if the title shows the whole command, path or tool name. */
  readonly isWhole: boolean;
}

/**
 * Formats the title in at most `room` cells. If the space is too small, the number of waiting
 * approvals is left out first. Then the command, path or tool name is shortened.
 */
function requestTitle(room: number, dialog: ApprovalDialog): RequestTitle {
  const { approval, others, isChild } = dialog;
  const asker = isChild ? `A ${approval.isGuardrail ? 'guardrail' : 'sub-agent'} asks: ` : '';
  const [verb, rawSubject, change, end] = titleParts(dialog);
  const isCommand = approval.name === 'bash';
  const { subject, isCut } = titleSubject(rawSubject, isCommand);
  const isTight = cellWidth(`${asker}${verb}${subject}${change}${end}`) > room;
  const isCramped = room - cellWidth(`${asker}${verb}${change}${end}`) < minSubjectWidth;
  const after = isTight && isCramped ? end : `${change}${end}`;
  const action = isChild ? lowerCase(verb) : verb;
  const more = others > 0 ? `  (${others} more after this)` : '';
  const around = cellWidth(`${asker}${action}${after}`);
  const isRoomy = around + cellWidth(subject) + cellWidth(more) <= room;
  const left = Math.max(1, room - around - (isRoomy ? cellWidth(more) : 0));
  const isWhole = !isCut && around + cellWidth(subject) <= room && !subject.includes('\n');
  const shown = isCommand ? clipText(subject, left) : clipTextStart(subject, left);
  return { text: `${asker}${action}${shown}${after}${isRoomy ? more : ''}`, isWhole };
}

/**
 * Maximum length of the command, path or tool name. A longer text is cut before it is drawn,
 * because each key press draws the title again.
 */
const maxSubjectLength = 2000;

function titleSubject(
  raw: string,
  isCommand: boolean,
): { readonly subject: string; readonly isCut: boolean } {
  if (raw.length <= maxSubjectLength) return { subject: revealHidden(raw), isCut: false };
  const subject = isCommand
    ? `${revealHidden(raw.slice(0, maxSubjectLength))}…`
    : `…${revealHidden(raw.slice(-maxSubjectLength))}`;
  return { subject, isCut: true };
}

/** Minimum width for the path. The effect of the change is shown only if this width remains. */
const minSubjectWidth = 12;

type TitleParts = readonly [before: string, subject: string, change: string, end: string];

function titleParts(dialog: ApprovalDialog): TitleParts {
  const { approval, preview, folder } = dialog;
  const { name, input } = approval;
  const { command, path } = (input ?? {}) as {
    readonly command?: JsonValue;
    readonly path?: JsonValue;
  };
  if (name === 'bash' && typeof command === 'string') return ['Run `', command, '', '`?'];
  const verb = verbs.get(name);
  if (verb === undefined || typeof path !== 'string') return ['Allow ', name, '', '?'];
  const change = name === 'write' || name === 'edit' ? changeText(name, preview) : '';
  const target = realTarget(path, dialog);
  const file = target === undefined ? path : `${path} → ${target}`;
  const subject = folder === undefined ? file : `${file} in ${folder}`;
  return [`${verb} `, subject, change, '?'];
}

/**
 * Returns the real path of the file if the path in the call does not name it from the folder of the call: because
 * of a symbolic link, or because a relative path leads out of the folder. A real path inside of the folder is
 * relative to it.
 */
function realTarget(
  path: string,
  { approval, preview, root }: Pick<ApprovalDialog, 'approval' | 'preview' | 'root'>,
): string | undefined {
  const judged = judgedPath(approval.judged ?? '');
  if (judged === '') return preview?.isLinked ? preview.file : undefined;
  const inside = root === undefined ? undefined : pathInside(root, judged);
  const isNamed =
    inside === undefined || root === undefined
      ? isAbsolute(path) && resolve(path) === judged
      : resolve(root, path) === judged;
  return isNamed ? undefined : (inside ?? judged);
}

/** Returns a path relative to a folder. Returns undefined if it is not inside of the folder. */
function pathInside(folder: string, path: string): string | undefined {
  const inside = relative(folder, path);
  const isOutside = inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside);
  return isOutside ? undefined : inside || '.';
}

/** Describes how the call affects the existing file. */
function changeText(name: 'write' | 'edit', preview: ChangePreview | undefined): string {
  if (preview === undefined) return '';
  const { linesBefore, added, removed, problem } = preview;
  if (problem !== undefined) return name === 'write' ? ' (replaces the file)' : '';
  if (name === 'edit') return ` (+${added} −${removed})`;
  return linesBefore === undefined ? ' (new)' : ` (replaces ${formatCount(linesBefore, 'line')})`;
}

const verbs: ReadonlyMap<string, string> = new Map([
  ['read', 'Read'],
  ['ls', 'List'],
  ['grep', 'Search'],
  ['glob', 'Find files in'],
  ['edit', 'Edit'],
  ['write', 'Write'],
]);

function lowerCase(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
