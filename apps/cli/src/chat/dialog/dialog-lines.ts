import { cellWidth, withLargestWidths } from '../../text/cells/cell-width.ts';
import type { ChoiceList, Dialog } from '../contract/dialog.ts';
import { marginOf } from '../render/call-body.ts';
import { formatCount } from '../render/format-amounts.ts';
import { clipText, fitLines, type Look, withRole, withTone } from '../render/look.ts';
import { dialogKey } from './choice-list.ts';
import { dialogContent } from './dialog-content.ts';
import { dialogTitle } from './dialog-title.ts';
import type { ContentView } from './read-content.ts';

/** Describes how a dialog reacts to the next key. */
export type DialogReadiness =
  /** The whole request was shown and the user is not typing. A key can approve. */
  | 'ready'
  /** The last key arrived less than the quiet period ago. The next key cannot approve. */
  | 'waiting'
  /** Like `waiting`. In addition, the last key would have approved if it had arrived alone. */
  | 'together'
  /** Some lines of the request were not shown yet. */
  | 'unread'
  /** The user has answered. The answer takes effect if no other key follows. */
  | 'held';

export interface DialogDrawing {
  /** Maximum number of lines. */
  readonly room: number;
  /** The first line of the content to show. Default: 0. */
  readonly from?: number | undefined;
  readonly readiness?: DialogReadiness | undefined;
  /** Text that the user typed while the dialog was open. */
  readonly typed?: string | undefined;
}

interface DrawnDialog {
  readonly lines: readonly string[];
  readonly view: ContentView;
}

/**
 * Minimum width of the window. In a narrower window, a user cannot read a request, so it does not
 * count as shown.
 */
const minWidth = 8;
/** Minimum number of lines for the content. If the choices do not fit below, they scroll. */
const minContent = 4;
/** If the dialog has fewer lines than this, it shows no hint. */
const minHintRoom = 8;

/**
 * Draws a dialog and reports which lines of its content are visible. The layout does not change
 * while the user reads, so lines do not move.
 */
export function drawDialog(
  look: Look,
  dialog: Dialog,
  list: ChoiceList,
  drawing: DialogDrawing,
): DrawnDialog {
  return withLargestWidths(() => layOutDialog(look, dialog, list, drawing));
}

function layOutDialog(
  look: Look,
  dialog: Dialog,
  list: ChoiceList,
  { room, from = 0, readiness = 'ready', typed = '' }: DialogDrawing,
): DrawnDialog {
  const request = dialogContent(look, dialog);
  const isGuarded = dialog.type !== 'pick';
  const hintText = readinessText(dialog, readiness, scrollKeyOf(list));
  const hint = isGuarded && room >= minHintRoom ? [hintLine(look, hintText, typed)] : [];
  const fullTitle = dialogTitle(look, dialog);
  // In a very low window, the title scrolls with the content. The user must read the title too. A
  // short command or path is shown only there. The title of a question or a confirmation can have many lines. It
  // scrolls if the choices do not fit below it.
  const isLong = dialog.type === 'question' || (isGuarded && fullTitle.length > 1);
  const isTiny = isLong
    ? fullTitle.length + request.length + list.items.length + hint.length > room
    : request.length > 1 && room < fullTitle.length + 3;
  const content = isTiny ? [...fullTitle, ...request] : request;
  // A list keeps one line for a choice, and more in a low window.
  const maxTitle = isGuarded || room >= minHintRoom ? room : 2;
  const titleRoom = Math.min(maxTitle, room - hint.length - (isGuarded ? 0 : 1));
  const title = isTiny ? [] : fullTitle.slice(0, Math.max(1, titleRoom));
  const rest = Math.max(0, room - title.length - hint.length);
  const wanted = Math.min(content.length, minContent);
  const choiceRoom = Math.max(Math.min(1, rest), Math.min(list.items.length, rest - wanted));
  const bodyRoom = Math.max(0, rest - choiceRoom);
  const { body, start, end } = contentWindow(look, content, {
    ...{ room: bodyRoom, from, scrollKey: scrollKeyOf(list) },
  });
  const choices = choiceLines(look, list, { room: choiceRoom, readiness, isGuarded });
  return {
    lines: fitLines(look, [...title, ...body, ...choices, ...hint]),
    view: {
      ...{ key: dialogKey(dialog), content, from: start, to: end },
      isTooNarrow: isGuarded && dialog.type !== 'question' && look.width < minWidth,
      preview: dialog.type === 'approval' ? dialog.preview : undefined,
    },
  };
}

interface ContentWindow {
  readonly body: readonly string[];
  /** The index of the first visible line. */
  readonly start: number;
  readonly end: number;
}

interface ContentDrawing {
  readonly room: number;
  readonly from: number;
  readonly scrollKey: string;
}

/**
 * Returns the visible part of the content. If the content does not fit, the last line tells how
 * many lines follow.
 */
function contentWindow(
  look: Look,
  content: readonly string[],
  { room, from, scrollKey }: ContentDrawing,
): ContentWindow {
  if (content.length <= room) return { body: content, start: 0, end: content.length };
  const size = room - 1;
  if (size < 1) return { body: [], start: 0, end: 0 };
  const start = Math.max(0, Math.min(from, content.length - size));
  const end = start + size;
  const position = `lines ${start + 1}–${end} of ${content.length}`;
  const below = content.length - end;
  const more =
    below === 0 ? 'the end' : `${formatCount(below, 'line')} below: ${scrollKey} shows more`;
  const note = withTone(
    look,
    'mark',
    clipText(`${marginOf(look)}${more} · ${position}`, look.width),
  );
  return { body: [...content.slice(start, end), note], start, end };
}

interface ChoiceDrawing {
  readonly room: number;
  readonly readiness: DialogReadiness;
  readonly isGuarded: boolean;
}

function choiceLines(
  look: Look,
  list: ChoiceList,
  { room, readiness, isGuarded }: ChoiceDrawing,
): readonly string[] {
  const { items, selected, ticked } = list;
  const first = Math.max(0, Math.min(selected - Math.floor(room / 2), items.length - room));
  return items.slice(first, first + room).map((item, index) => {
    const position = first + index;
    const isSelected = position === selected;
    // Until the user has seen the whole request, only the last choice works, which refuses.
    const isLocked = isGuarded && readiness === 'unread' && position < items.length - 1;
    const tick = ticked === undefined ? '' : ticked.has(position) ? '[x] ' : '[ ] ';
    const key = item.letter === undefined ? '' : ` (${item.letter})`;
    // A long label is cut, but its key stays visible.
    const label = `${clipText(`${tick}${item.label}`, look.width - 2 - key.length)}${key}`;
    const left = look.width - 2 - cellWidth(label) - 2;
    const detail = item.detail === undefined || left < 4 ? '' : `  ${clipText(item.detail, left)}`;
    const strong = isSelected ? withRole(look, 'strong', label) : label;
    const painted = isLocked ? withTone(look, 'dim', label) : strong;
    return `${isSelected ? withRole(look, 'marker', '›') : ' '} ${painted}${withTone(look, 'dim', detail)}`;
  });
}

/**
 * Returns the name of the key that scrolls. In a list in which the user can tick several items, the space key
 * ticks an item, so a different key scrolls.
 */
function scrollKeyOf({ ticked }: ChoiceList): string {
  return ticked === undefined ? 'Space' : 'Page Down';
}

function hintLine(look: Look, hint: string, typed: string): string {
  const kept = typed.trim() === '' ? '' : `In the prompt: ${typed.replaceAll(/\s+/g, ' ')}`;
  const text = [hint, kept].filter(Boolean).join(' · ');
  return withTone(look, 'dim', clipText(text, look.width));
}

const refusals = {
  approval: 'n denies',
  confirm: 'n goes back',
  question: 'x dismisses',
  pick: '',
};

function readinessText({ type }: Dialog, readiness: DialogReadiness, scrollKey: string): string {
  const refusal = refusals[type];
  switch (readiness) {
    case 'ready':
      return type === 'question' ? 'Choose an answer' : `y approves, ${refusal}`;
    case 'waiting':
      return 'A key answers after one second without typing';
    case 'together':
      return 'Press y alone: without Enter, and after one second without typing';
    case 'unread':
      return `Read all of it first: ${scrollKey} shows more, v prints it. ${refusal}`;
    case 'held':
      return 'Answering …';
  }
}
