import { WorkspaceError } from '../contract/workspace-error.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { applyEdits, type Edit } from './apply-edits.ts';
import { countLines, decodeText } from './text-file.ts';
import { unifiedDiff } from './unified-diff.ts';

/** What a change of a file would do, as things are now. */
export interface ChangePreview {
  /** As `diff -u` tells it, with the lines around it. Empty where nothing would change. */
  readonly diff: string;
  readonly added: number;
  readonly removed: number;
  /** How many lines there are now; undefined where there is no such file. */
  readonly linesBefore: number | undefined;
  /** Why it could not be done. */
  readonly problem?: string | undefined;
}

/** More is looked at by nobody, and takes its time. */
const maxFileBytes = 4_000_000;
const maxDiffLines = 20_000;

/**
 * What a call of `edit` or `write` would do, for whoever decides on it. Nothing where that cannot be said:
 * it is neither, its input is no input of theirs, or it is outside.
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
  if (found === undefined) return { ...noDiff, linesBefore, problem: 'There is no such file' };
  const applied = applyEdits(found, edits as readonly Edit[]);
  if (!applied.ok) return { ...noDiff, linesBefore, problem: applied.problem };
  return { ...diffOf(before, applied.file.text), linesBefore };
}

const notTextProblem = 'What is there now is no text that could be shown';
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
