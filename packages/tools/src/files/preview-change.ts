import { WorkspaceError } from '../contract/workspace-error.ts';
import { basisOf } from '../workspace/open-file.ts';
import { protectedLinkError } from '../workspace/resolve-path.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { applyEdits, type Edit, type EditOutcome } from './apply-edits.ts';
import { applyPatch, createdText, type PatchOutcome } from './apply-patch.ts';
import { byteOrderMark, countLines, decodeText, type TextFile, withoutCrlf } from './text-file.ts';
import { unifiedDiff } from './unified-diff.ts';

/** The change that a call of `edit`, `write` or `apply_patch` would make to the current file. */
export interface ChangePreview {
  /** The real path of the file, relative to the workspace. */
  readonly file: string;
  /** True if the path in the call leads to `file` through a symbolic link. */
  readonly isLinked: boolean;
  /**
   * The change in the format of `diff -u`, with context lines. Empty if the call would change nothing. If the
   * call deletes a symbolic link, the diff shows the target of the link as its only line, as git does.
   */
  readonly diff: string;
  /** True if `diff` has only the first 20,000 lines of the change. Default: false. */
  readonly isCut?: boolean | undefined;
  /** The change of the line endings, such as `LF → CRLF`. Undefined if they do not change. */
  readonly lineEndings?: string | undefined;
  /** Number of added lines. */
  readonly added: number;
  /** Number of removed lines. */
  readonly removed: number;
  /** The current number of lines in the file. Undefined if the file does not exist. */
  readonly linesBefore: number | undefined;
  /** The reason why the call would fail. Undefined if it would succeed. */
  readonly problem?: string | undefined;
  /**
   * The state of the file from which this preview was computed: a hash of the content, or that there is no file.
   * Pass it with the approval (`ApproveOptions.basis`). The call then changes nothing if the file is in a different
   * state. Undefined if `write` replaces a file that is too large for a preview.
   */
  readonly basis?: string | undefined;
}

/** Maximum size of a file for a preview, in bytes. The diff of a larger file takes too long. */
const maxFileBytes = 4_000_000;
const maxDiffLines = 20_000;

/**
 * Returns the change that a call of `edit`, `write` or `apply_patch` would make, for the user who approves
 * it. Returns undefined for all other tools, for invalid input and for paths that the workspace refuses.
 *
 * @example
 * ```ts
 * const input = { path: 'a.txt', content: 'new' };
 * const preview = await previewChange(workspace, { tool: 'write', input });
 * ```
 */
export async function previewChange(
  workspace: Pick<Workspace, 'read' | 'resolve'>,
  { tool, input }: { readonly tool: string; readonly input: unknown },
): Promise<ChangePreview | undefined> {
  const planned = plannedChange(tool, input);
  if (planned === undefined) return undefined;
  const { path, resultOf } = planned;
  const place = await placeOf(workspace, planned);
  if (place === undefined) return undefined;
  const at = { file: place.shown, isLinked: place.isLinked };
  const refusal = protectedLinkError(place)?.message;
  const hidden = { ...at, ...noDiff, linesBefore: undefined } as const;
  if (refusal !== undefined) return { ...hidden, problem: refusal, basis: unknownState };
  if (place.linkTarget !== undefined) {
    const basis = basisOf(undefined, place.linkTarget);
    return { ...at, ...diffOf(place.linkTarget, ''), linesBefore: 1, basis };
  }
  const current = await contentOf(workspace, path);
  if (current === 'outside') return undefined;
  if (current === 'too large' && tool === 'write') return { ...hidden, problem: notTextProblem };
  if (current === 'unreadable' || current === 'too large')
    return { ...hidden, problem: notTextProblem, basis: unknownState };
  const basis = basisOf(current?.version);
  const found = current && decodeText(current.bytes);
  if (current !== undefined && found === undefined)
    return { ...hidden, problem: notTextProblem, basis };
  const text = found?.text ?? '';
  const linesBefore = found && (text === '' ? 0 : countLines(text.replace(/\n$/, '')) + 1);
  const result = resultOf(found);
  if ('problem' in result) return { ...at, ...noDiff, linesBefore, problem: result.problem, basis };
  const endings = result.content === undefined ? {} : lineEndingChange(found, result.content);
  // A call that writes exactly its text also removes or adds the mark at the start of the file.
  const isExact = result.content !== undefined && found?.hasByteOrderMark === true;
  const before = isExact ? `${byteOrderMark}${text}` : text;
  return { ...at, ...diffOf(before, result.text), ...endings, linesBefore, basis };
}

/**
 * The text of the file after the change, or the reason why the call would fail. `content` is set if the call
 * writes exactly this text, including its line endings.
 */
type ChangeResult =
  | { readonly text: string; readonly content?: string }
  | { readonly problem: string };

interface PlannedChange {
  readonly path: string;
  /** True if the call changes a link itself, and not its target. Default: false. */
  readonly keepsLink?: boolean;
  /** Returns the result of the change. `found` is undefined if the file does not exist. */
  readonly resultOf: (found: TextFile | undefined) => ChangeResult;
}

/** Returns the change that a call makes. Returns undefined for all other tools and for invalid input. */
function plannedChange(tool: string, input: unknown): PlannedChange | undefined {
  const { path, content, edits, type, diff } = (input ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof path !== 'string') return undefined;
  if (tool === 'write' && typeof content === 'string')
    return { path, resultOf: () => whole(content) };
  if (tool === 'edit' && Array.isArray(edits) && edits.every(isEdit))
    return { path, resultOf: changed((file) => applyEdits(file, edits as readonly Edit[])) };
  if (tool !== 'apply_patch') return undefined;
  if (type === 'delete_file')
    return { path, keepsLink: true, resultOf: (found) => (found ? { text: '' } : missing) };
  if (typeof diff !== 'string') return undefined;
  if (type === 'update_file') return { path, resultOf: changed((file) => applyPatch(file, diff)) };
  const created = type === 'create_file' ? createdText(diff) : undefined;
  if (created === undefined) return undefined;
  const exists = { problem: 'The file exists already' };
  return { path, resultOf: (found) => (found === undefined ? whole(created) : exists) };
}

const missing = { problem: 'The file does not exist' };

function whole(content: string): ChangeResult {
  return { text: withoutCrlf(content), content };
}

function changed(
  apply: (file: TextFile) => EditOutcome | PatchOutcome,
): (found: TextFile | undefined) => ChangeResult {
  return (found) => {
    if (found === undefined) return missing;
    const applied = apply(found);
    return applied.ok ? { text: applied.file.text } : { problem: applied.problem };
  };
}

/** Returns the resolved path. Returns undefined if the workspace cannot resolve it. */
function placeOf(
  workspace: Pick<Workspace, 'resolve'>,
  { path, keepsLink }: Pick<PlannedChange, 'path' | 'keepsLink'>,
) {
  return workspace.resolve(path, { keepsLink }).catch(() => undefined);
}

/** The `basis` of a file that cannot be read. No file is in this state, so an approved call changes nothing. */
const unknownState = 'unknown';

const notTextProblem = 'The current content is not text and cannot be shown';
const noDiff = { diff: '', added: 0, removed: 0 } as const;

function diffOf(
  before: string,
  after: string,
): Pick<ChangePreview, 'diff' | 'added' | 'removed' | 'isCut'> {
  const { text: diff, added, removed, isCut } = unifiedDiff(before, after, maxDiffLines);
  return { diff, added, removed, ...(isCut && { isCut }) };
}

/**
 * Describes how the line endings change, because the diff ignores line endings. For a new file, LF counts as
 * unchanged.
 */
function lineEndingChange(
  before: TextFile | undefined,
  content: string,
): Pick<ChangePreview, 'lineEndings'> {
  const isCrlf = Array.from(content.matchAll(/\r?\n/g), ([ending]) => ending === '\r\n');
  const [was, is] = [endingNames(before?.isCrlf ?? []), endingNames(isCrlf)];
  // With both endings, the names do not show which lines change.
  const isSame = was === is && (is !== mixed || before?.isCrlf.join() === isCrlf.join());
  const isUsual = isSame || is === 'none' || (was === 'none' && is === 'LF');
  return isUsual ? {} : { lineEndings: `${was} → ${is}` };
}

const mixed = 'LF and CRLF';

function endingNames(isCrlf: readonly boolean[]): string {
  const names = [
    ...(isCrlf.includes(false) ? ['LF'] : []),
    ...(isCrlf.includes(true) ? ['CRLF'] : []),
  ];
  return names.length === 2 ? mixed : (names[0] ?? 'none');
}

function isEdit(edit: unknown): boolean {
  const { old_text: before, new_text: after } = (edit ?? {}) as Partial<Edit>;
  return typeof before === 'string' && before !== '' && typeof after === 'string';
}

/** Returns the current content of a file. Returns undefined if the file does not exist. */
async function contentOf(workspace: Pick<Workspace, 'read'>, path: string) {
  try {
    return await workspace.read(path, maxFileBytes);
  } catch (error) {
    const code = error instanceof WorkspaceError ? error.code : undefined;
    if (code === 'not_found') return undefined;
    if (code === 'too_large') return 'too large';
    return code === 'outside' ? 'outside' : 'unreadable';
  }
}
