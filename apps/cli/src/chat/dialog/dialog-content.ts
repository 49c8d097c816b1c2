import { isJsonObject, type JsonValue } from '@millrace/core';
import { withLargestWidths } from '../../text/cells/cell-width.ts';
import { revealHidden } from '../../text/cells/reveal-hidden.ts';
import { revealInDiff } from '../../text/diff/reveal-in-diff.ts';
import type { ApprovalDialog, ConfirmDialog, Dialog, QuestionDialog } from '../contract/dialog.ts';
import {
  diffBody,
  inputDiff,
  marginOf,
  markedLine,
  markedLines,
  replaceAllNotes,
} from '../render/call-body.ts';
import { type Look, withTone, wrapText } from '../render/look.ts';
import { clippedSubject, dialogTitle, shownDialog } from './dialog-title.ts';

/**
 * Returns all lines that the user must see before an approval, except the parts that the title
 * shows. Lines are not shortened.
 */
export function dialogContent(look: Look, given: Dialog): readonly string[] {
  const dialog = shownDialog(look, given);
  switch (dialog.type) {
    case 'approval':
    case 'confirm':
      return cachedLines(look, dialog);
    case 'question':
      return longOptions(look, dialog);
    case 'pick':
      return [];
  }
}

/** Returns the full content of a request, as lines for the scrollback. */
export function fullDialogLines(
  look: Look,
  dialog: ApprovalDialog | ConfirmDialog | QuestionDialog,
): readonly string[] {
  return withLargestWidths(() => fullLines(look, dialog));
}

function fullLines(
  look: Look,
  given: ApprovalDialog | ConfirmDialog | QuestionDialog,
): readonly string[] {
  const dialog = shownDialog(look, given);
  const isCall = dialog.type === 'approval';
  const drawing = { titleLook: look, isFull: true };
  const lines = isCall ? requestContent(look, dialog, drawing) : dialogContent(look, dialog);
  const title = dialogTitle(look, isCall ? { ...dialog, others: 0 } : dialog);
  const end = lines.length === 0 ? [] : [withTone(look, 'dim', '  (end)')];
  return [...title, ...lines, ...end];
}

/** Returns the options of a question that do not fit into one line of the list of choices, in full. */
function longOptions(look: Look, { question }: QuestionDialog): readonly string[] {
  const choice = { ...look, width: look.width - choiceMargin };
  return question.options.flatMap(({ label, description }) => {
    const text = description === undefined ? label : `${label}  ${description}`;
    return wrapText(choice, text).length === 1 ? [] : markedLines(look, text);
  });
}

/** The maximum width of the marker and the tick before the label of a choice. */
const choiceMargin = 6;

interface CachedLines {
  readonly look: Look;
  /** The command, path or tool of the request. Undefined if the title shows all of it. */
  readonly clipped: string | undefined;
  readonly folder: string | undefined;
  readonly lines: readonly string[];
}

/**
 * Caches the lines of a request. While the user reads a long change, its lines are drawn many
 * times.
 */
const linesCache = new WeakMap<object, CachedLines>();

function cachedLines(look: Look, dialog: ApprovalDialog | ConfirmDialog): readonly string[] {
  const key = dialog.type === 'confirm' ? dialog : (dialog.preview ?? dialog.approval);
  const clipped = dialog.type === 'confirm' ? undefined : clippedSubject(look, dialog);
  const folder = dialog.type === 'confirm' ? undefined : dialog.folder;
  const before = linesCache.get(key);
  const isSameLook = before?.look.width === look.width && before.look.theme === look.theme;
  const isSameCall = before?.clipped === clipped && before?.folder === folder;
  if (before !== undefined && isSameLook && isSameCall) return before.lines;
  const lines =
    dialog.type === 'confirm'
      ? confirmContent(look, dialog)
      : requestContent(look, dialog, { titleLook: look });
  linesCache.set(key, { look, clipped, folder, lines });
  return lines;
}

function confirmContent(look: Look, { rule, scope, requests }: ConfirmDialog): readonly string[] {
  const about = rule === undefined ? [] : markedLines(look, revealHidden(rule));
  const alone = requests.length === 1;
  const calls = requests.flatMap((request, index) =>
    listedRequest(look, request, alone ? '' : `${index + 1}. `),
  );
  const meaning = scope === undefined ? [] : factRows(look, `It allows ${scope}.`);
  return [...about, ...meaning, ...calls];
}

/** Returns one request of a list, with its number before its title. */
function listedRequest(look: Look, listed: ApprovalDialog, number: string): readonly string[] {
  const request = { ...listed, others: 0 };
  const titleLook = { ...look, width: Math.max(1, look.width - number.length) };
  const title = dialogTitle(titleLook, request).map((line) => number + line);
  return [...title, ...requestContent(look, request, { titleLook })];
}

interface RequestDrawing {
  /** The look of the title above the content. The content shows the command or path that does not fit into this title. */
  readonly titleLook: Look;
  /** True if the content shows a command in any case. Default: false. */
  readonly isFull?: boolean | undefined;
}

/**
 * Returns the lines for the command, the change or the input of one request. They start with the facts that the
 * input does not show, for example why the call needs an approval.
 */
function requestContent(
  look: Look,
  dialog: ApprovalDialog,
  drawing: RequestDrawing,
): readonly string[] {
  const { folder, approval, preview } = dialog;
  const place = factLines(look, 'dim', otherPlace(dialog));
  const where = `It runs in another folder than this one: ${revealHidden(folder ?? '')}`;
  const about = folder === undefined ? [] : markedLines(look, where);
  const reason = factLines(look, 'dim', approval.reason);
  const problem = factLines(look, 'bad', preview?.problem);
  return [...problem, ...reason, ...about, ...place, ...callContent(look, dialog, drawing)];
}

/**
 * Returns where a command runs, if this is not the folder of the question. For example, a sub-agent can work in a
 * worktree. The policy names the folder and the sandbox in its decision (`judged`).
 */
export function otherPlace({
  approval: { name, judged },
  root,
}: Pick<ApprovalDialog, 'approval' | 'root'>): string | undefined {
  if (name !== 'bash' || judged === undefined || root === undefined) return undefined;
  return judged.endsWith(` in ${root}`) ? undefined : `It is ${judged}`;
}

function factLines(look: Look, tone: 'bad' | 'dim', fact: string | undefined): readonly string[] {
  if (fact === undefined) return [];
  return factRows(look, fact).map((line) => withTone(look, tone, line));
}

/** Returns a fact as one line. It can name a part of the command, which must not look like a line of the command. */
function factRows(look: Look, fact: string): readonly string[] {
  return markedLine(look, revealHidden(fact).replaceAll('\n', ' ⏎ '), '  ');
}

function callContent(
  look: Look,
  dialog: ApprovalDialog,
  { titleLook, isFull = false }: RequestDrawing,
): readonly string[] {
  const { approval, preview } = dialog;
  const { name, input } = approval;
  const subject = clippedSubject(titleLook, dialog);
  const clipped = subject === undefined ? undefined : revealHidden(subject);
  const fields = fieldsOf(input);
  // A shortened preview does not show the whole change. In this case, the lines come from the input
  // of the call.
  const effect = preview?.isCut ? undefined : preview?.diff || undefined;
  const diff = effect ?? inputDiff(name, input);
  if (diff !== undefined) {
    const path = clipped === undefined ? [] : markedLines(look, clipped);
    const rest = otherFields(look, fields, diffFields);
    const notes = [
      ...(preview?.lineEndings ? [`Changes the line endings: ${preview.lineEndings}`] : []),
      // The preview already shows every replacement, so no notes are needed.
      ...(effect === undefined ? replaceAllNotes(name, input) : []),
    ];
    const shownNotes = notes.flatMap((note) => markedLines(look, note));
    return [
      ...path,
      ...rest,
      ...shownNotes,
      ...diffBody(look, revealInDiff(diff), Number.POSITIVE_INFINITY),
    ];
  }
  if (name === 'bash' && typeof fields?.['command'] === 'string') {
    const command = revealHidden(`$ ${fields['command']}`);
    const shown = clipped === undefined && !isFull ? [] : markedLines(look, command);
    return [...shown, ...otherFields(look, fields, commandFields)];
  }
  const path = clipped === undefined ? [] : markedLines(look, clipped);
  if (input === undefined) return [...path, ...markedLines(look, unknownInput)];
  if (isPathAlone(name, fields)) return path;
  const json = revealHidden(JSON.stringify(input, null, 2));
  // The line breaks of JSON have no meaning, so a screen reader reads no numbers for them.
  const shown =
    look.isPlain === true
      ? json.split('\n').flatMap((line) => markedLine(look, line, marginOf(look)))
      : markedLines(look, json);
  return [...path, ...shown];
}

const unknownInput =
  'The input of this call is not known here, so it cannot be allowed. Deny it; the model can make the call again.';

/** The input fields that are visible in the title or in the diff. */
const diffFields: ReadonlySet<string> = new Set(['path', 'content', 'edits']);
/**
 * The input fields of a command that are not listed separately. The description has no effect. The
 * model wrote it only for the user.
 */
const commandFields: ReadonlySet<string> = new Set(['command', 'description']);

type Fields = Readonly<Record<string, JsonValue | undefined>>;

function fieldsOf(input: JsonValue | undefined): Fields | undefined {
  return isJsonObject(input) ? input : undefined;
}

function otherFields(
  look: Look,
  fields: Fields | undefined,
  shown: ReadonlySet<string>,
): readonly string[] {
  return Object.entries(fields ?? {})
    .filter(([name, value]) => !shown.has(name) && value !== undefined)
    .flatMap(([name, value]) =>
      markedLines(look, revealHidden(`${name}: ${JSON.stringify(value)}`)),
    );
}

/** Returns true if the path is the only input field. The title already shows it. */
function isPathAlone(name: string, fields: Fields | undefined): boolean {
  const isLooking = name === 'read' || name === 'ls' || name === 'glob';
  return isLooking && Object.keys(fields ?? {}).join() === 'path';
}
