import { WorkspaceError } from '../contract/workspace-error.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { applyEdits, type Edit } from './apply-edits.ts';
import { countLines, decodeText } from './text-file.ts';
import { unifiedDiff } from './unified-diff.ts';

/** The effect that a call of `edit` or `write` would have on the file as it is now. */
export interface ChangePreview {
  /** The change in the format of `diff -u`, with context lines. Empty if nothing would change. */
  readonly diff: string;
  /** Number of added lines. */
  readonly added: number;
  /** Number of removed lines. */
  readonly removed: number;
  /** Number of lines that the file has now. Undefined if the file does not exist. */
  readonly linesBefore: number | undefined;
  /** Why the call would fail. */
  readonly problem?: string | undefined;
}

/** Larger files are not previewed, because computing the diff takes too long. */
const maxFileBytes = 4_000_000;
const maxDiffLines = 20_000;

/**
 * Shows what a call of `edit` or `write` would change, for the person who approves it. Returns
 * undefined for other tools, for invalid input and for paths outside the workspace.
 *
 * @example const preview = await previewChange(workspace, { tool: 'write', input: { path: 'a.txt',
 * content: 'new' } });
 */
export async function previewChange(
  workspace: Pick<Workspace, 'read'>,
  { tool, input }: { readonly tool: string; readonly input: unknown },
): Promise<ChangePreview | undefined> {
  const { path, content, edits } = (input ?? {}) as {
    readonly path?: unknown;
    readonly content?: unknown;
    readonly edits?: unknown;
  };
  if (typeof path !== 'string') return undefined;
  const isWrite = tool === 'write' && typeof content === 'string';
  if (!isWrite && !(tool === 'edit' && Array.isArray(edits) && edits.every(isEdit)))
    return undefined;
  const found = await textOf(workspace, path);
  if (found === 'outside') return undefined;
  if (found === 'no text') return { ...noDiff, linesBefore: undefined, problem: notTextProblem };
  const before = found?.text ?? '';
  const linesBefore = found && (before === '' ? 0 : countLines(before.replace(/\n$/, '')) + 1);
  if (isWrite) return { ...diffOf(before, content.replaceAll('\r\n', '\n')), linesBefore };
  if (found === undefined) return { ...noDiff, linesBefore, problem: 'The file does not exist' };
  const applied = applyEdits(found, edits as readonly Edit[]);
  if (!applied.ok) return { ...noDiff, linesBefore, problem: applied.problem };
  return { ...diffOf(before, applied.file.text), linesBefore };
}

const notTextProblem = 'The current content is not text and cannot be shown';
const noDiff = { diff: '', added: 0, removed: 0 } as const;

function diffOf(before: string, after: string): Pick<ChangePreview, 'diff' | 'added' | 'removed'> {
  const { text: diff, added, removed } = unifiedDiff(before, after, maxDiffLines);
  return { diff, added, removed };
}

function isEdit(edit: unknown): boolean {
  const { old_text: before, new_text: after } = (edit ?? {}) as Partial<Edit>;
  return typeof before === 'string' && before !== '' && typeof after === 'string';
}

async function textOf(workspace: Pick<Workspace, 'read'>, path: string) {
  try {
    return decodeText((await workspace.read(path, maxFileBytes)).bytes) ?? 'no text';
  } catch (error) {
    const code = error instanceof WorkspaceError ? error.code : undefined;
    if (code === 'not_found') return undefined;
    return code === 'outside' ? 'outside' : 'no text';
  }
}
