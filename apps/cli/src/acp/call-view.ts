import { isAbsolute, resolve } from 'node:path';
import type { ToolCallContent, ToolCallLocation, ToolKind } from '@agentclientprotocol/sdk';
import { type FileVersion, isJsonObject, type JsonValue } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { ChangePreview } from '@millrace/tools';
import { storedText } from '../store/stored-text.ts';
import { revealHidden, revealInLines } from '../text/cells/reveal-hidden.ts';
import { parseDiff } from '../text/diff/parse-diff.ts';

/** The fields that describe a tool call in the editor. */
export interface CallView {
  readonly title: string;
  readonly kind: ToolKind;
  readonly locations: ToolCallLocation[];
  readonly content: ToolCallContent[];
}

const kinds: Readonly<Record<string, ToolKind>> = {
  read: 'read',
  ls: 'read',
  read_output: 'read',
  skill: 'read',
  grep: 'search',
  glob: 'search',
  edit: 'edit',
  write: 'edit',
  bash: 'execute',
  task: 'think',
  todo: 'think',
};

/** Returns the kind of a tool. Tools of MCP servers have the kind `other`. */
export function kindOf(name: string): ToolKind {
  return Object.hasOwn(kinds, name) ? (kinds[name] ?? 'other') : 'other';
}

const maxTitleLength = 300;

/** Describes a call whose arguments are complete. `cwd` is the folder of the session. */
export function describeCall(name: string, input: JsonValue | undefined, cwd: string): CallView {
  const fields = fieldsOf(input);
  const path = typeof fields['path'] === 'string' ? fields['path'] : undefined;
  const line = typeof fields['offset'] === 'number' ? { line: fields['offset'] } : {};
  const locations = path === undefined ? [] : [{ path: absolutePath(path, cwd), ...line }];
  return {
    title: titleOf(name, fields),
    kind: kindOf(name),
    locations,
    content: inputDiffs(name, fields, cwd),
  };
}

/** Shortens a title to one line. Hidden characters become visible. */
export function shortTitle(text: string): string {
  const [first = '', ...more] = text.split('\n');
  const isCut = more.length > 0 || first.length > maxTitleLength;
  const shown = revealHidden(first.slice(0, maxTitleLength).toWellFormed());
  return isCut ? `${shown}…` : shown;
}

function titleOf(name: string, fields: Fields): string {
  const { command, path, pattern } = fields;
  if (name === 'bash' && typeof command === 'string') return shortTitle(command);
  const subject = [pattern, path].find((one) => typeof one === 'string');
  return shortTitle(typeof subject === 'string' ? `${name} ${subject}` : name);
}

/**
 * Returns the change that the arguments of a call describe. The old content of the file is on the
 * log only later.
 */
function inputDiffs(name: string, fields: Fields, cwd: string): ToolCallContent[] {
  const { path, content, edits } = fields;
  if (typeof path !== 'string') return [];
  const file = absolutePath(path, cwd);
  if (name === 'write' && typeof content === 'string') return [shownDiff(file, undefined, content)];
  if (name !== 'edit' || !Array.isArray(edits)) return [];
  return edits.flatMap((edit): ToolCallContent[] => {
    const { old_text: oldText, new_text: newText } = fieldsOf(edit);
    const isEdit = typeof oldText === 'string' && typeof newText === 'string';
    return isEdit ? [shownDiff(file, oldText, newText)] : [];
  });
}

/** Maximum number of diffs of one call. */
export const maxDiffs = 50;
/** Maximum length of a file whose whole content is sent as a diff, in bytes. */
const maxDiffBytes = 262_144;

/** A change of a file, as the log has it. */
export interface RecordedChange {
  readonly path: string;
  readonly before?: FileVersion | undefined;
  readonly after?: FileVersion | undefined;
}

/** Returns the diff of a recorded change. Returns undefined if the content is not stored text. */
export async function recordedDiff(
  log: Pick<Log, 'blobs'>,
  { path, before, after }: RecordedChange,
): Promise<ToolCallContent | undefined> {
  const length = Math.max(before?.length ?? 0, after?.length ?? 0);
  if (path === '' || length > maxDiffBytes) return undefined;
  const [oldText, newText] = await Promise.all([storedText(log, before), storedText(log, after)]);
  if (oldText === undefined || newText === undefined) return undefined;
  return shownDiff(path, before === undefined ? undefined : oldText, newText);
}

/** Returns the hunks of a preview as diffs, so that the user sees exactly the lines that change. */
export function previewDiffs({ diff }: ChangePreview, path: string): ToolCallContent[] {
  const hunks: { readonly before: string[]; readonly after: string[] }[] = [];
  let last: string | undefined;
  for (const { kind, text } of parseDiff(diff)) {
    if (kind === 'hunk') hunks.push({ before: [], after: [] });
    const hunk = hunks.at(-1);
    if (kind === 'removed' || kind === 'context') hunk?.before.push(`${text}\n`);
    if (kind === 'added' || kind === 'context') hunk?.after.push(`${text}\n`);
    // This note is about the line before it: the last line of the file has no line break.
    if (kind === 'note' && text.startsWith('\\')) {
      if (last !== 'added') hunk?.before.push(withoutBreak(hunk.before.pop()));
      if (last !== 'removed') hunk?.after.push(withoutBreak(hunk.after.pop()));
    }
    last = kind;
  }
  return hunks.map(({ before, after }) =>
    shownDiff(path, before.length > 0 ? before.join('') : undefined, after.join('')),
  );
}

/** Returns a diff in which invisible characters are codes. An editor draws some of them as line breaks. */
function shownDiff(path: string, oldText: string | undefined, newText: string): ToolCallContent {
  const before = oldText === undefined ? {} : { oldText: revealInLines(oldText) };
  return { type: 'diff', path, ...before, newText: revealInLines(newText) };
}

function withoutBreak(line = ''): string {
  return line.replace(/\n$/, '');
}

/** Returns a text as content of a call. */
export function textContent(text: string): ToolCallContent {
  return { type: 'content', content: { type: 'text', text } };
}

/**
 * Returns a fact about a call as content. The fact can contain text of a model or a server, and the editor draws it as
 * Markdown, so it becomes one line in which no sign has a meaning.
 */
export function factContent(fact: string): ToolCallContent {
  const line = revealHidden(fact).replaceAll('\n', ' ⏎ ');
  const indented = line.replace(/^ +/, (spaces) => '\u00a0'.repeat(spaces.length));
  return textContent(indented.replace(markdownSigns, escapedSign));
}

/** Returns a sign that Markdown shows as it is. For some editors, `\[` is the start of a formula. */
function escapedSign(sign: string): string {
  if (sign === '[') return '&#91;';
  return sign === '\\' ? '&#92;' : `\\${sign}`;
}

/** Matches signs of Markdown in a line, also those that make an address a link. A `_` inside of a word, such as a path, has no meaning. */
const markdownSigns =
  /[\\`*[<>&~$|]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|(?<=^\u00a0*)[#+=-]|(?<=^\u00a0*\d+)[.)]|:(?=\/\/)|(?<=www)\.|@/giu;

/** Returns a text in a code block. The fence is longer than any fence in the text. */
export function fenced(text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text.replace(/\n$/, '')}\n${fence}`;
}

export type Fields = Readonly<Record<string, JsonValue | undefined>>;

export function fieldsOf(input: JsonValue | undefined): Fields {
  return isJsonObject(input) ? input : {};
}

export function absolutePath(path: string, cwd: string): string {
  return isAbsolute(path) ? path : resolve(cwd, path);
}
