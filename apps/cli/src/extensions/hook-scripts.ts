import { createHash, randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { findNamedScripts, isScript, type NamedScripts } from '../config/named-scripts.ts';
import type { Hook } from '../contract/extensions.ts';
import { readFileSafely } from '../safe-files.ts';
import { listFiles } from './extension-files.ts';

/** Maximum size of all scripts together. */
const maxScriptBytes = 64 * 1024 * 1024;

interface At {
  /** The real path of the repository root. */
  readonly root: string;
  readonly cwd: string;
}

/** The scripts that hooks of a project can start. */
export interface HookScripts {
  /**
   * The absolute paths of the scripts, of files that would run in place of a script if they existed, and of the
   * folders that contain settings of hooks.
   */
  readonly paths: readonly string[];
  /** Changes if a script changes, appears or disappears. */
  readonly digest: string;
}

/**
 * Finds the scripts that hooks of a project can start: the files that their commands name, and all scripts in
 * the folders `.claude/hooks` and `.millrace/hooks`. If a script cannot be read, if the scripts are too large,
 * or if the project has too many files to search, each digest is different. The hooks then never count as
 * unchanged.
 */
export async function readHookScripts(hooks: readonly Hook[], at: At): Promise<HookScripts> {
  const digests: (readonly [path: string, digest: string])[] = [];
  const unreadable = () => Buffer.from(randomUUID());
  const scripts = await hookScripts(hooks, at);
  let left = maxScriptBytes;
  for (const path of scripts?.files ?? ['']) {
    const read = readFileSafely(path, { maxBytes: left });
    const { bytes } = await read.catch(() => ({ bytes: unreadable() }));
    digests.push([path, digestOf(bytes)]);
    left = Math.max(0, left - bytes.length);
  }
  const folders = hooks.map(({ file }) => dirname(file));
  const { files = [], shadows = [] } = scripts ?? {};
  const paths = [...new Set([...folders, ...files, ...shadows])];
  return { paths, digest: digestOf(JSON.stringify(digests)) };
}

function digestOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

async function hookScripts(hooks: readonly Hook[], at: At): Promise<NamedScripts | undefined> {
  if (hooks.length === 0) return { files: [], shadows: [] };
  const parents = [...new Set(hooks.map(({ projectFolder }) => projectFolder))];
  const inFolders = await Promise.all(
    parents.flatMap((parent) =>
      ['.claude', '.millrace'].map((name) =>
        listFiles(join(parent, name, 'hooks'), 'project', isScript),
      ),
    ),
  );
  return findNamedScripts(hooks, at, inFolders.flat());
}
