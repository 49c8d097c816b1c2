import { createHash, randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { findNamedScripts, isScript } from '../config/named-scripts.ts';
import type { Hook } from '../contract/extensions.ts';
import { readFileSafely } from '../safe-files.ts';
import { listFiles } from './extension-files.ts';

const maxScriptBytes = 64 * 1024 * 1024;

interface At {
  /** The real path of the repository root. */
  readonly root: string;
  readonly cwd: string;
}

/** The scripts that hooks of a project can start. */
export interface HookScripts {
  /** The absolute paths of the scripts and of the folders that contain settings of hooks. */
  readonly paths: readonly string[];
  /** Changes if a script changes, appears or disappears. */
  readonly digest: string;
}

/**
 * Finds the scripts that hooks of a project can start: the files that their commands name, and all scripts in
 * the folders `.claude/hooks` and `.millrace/hooks`. If a script cannot be read, or if the project has too
 * many files to search, each digest is different. The hooks then never count as unchanged.
 */
export async function readHookScripts(hooks: readonly Hook[], at: At): Promise<HookScripts> {
  const hash = createHash('sha256');
  const unreadable = () => Buffer.from(randomUUID());
  const scripts = await hookScripts(hooks, at);
  for (const path of scripts ?? ['']) {
    const read = readFileSafely(path, { maxBytes: maxScriptBytes });
    const { bytes } = await read.catch(() => ({ bytes: unreadable() }));
    hash.update(`${path}\n${bytes.length}\n`).update(bytes);
  }
  const folders = hooks.map(({ file }) => dirname(file));
  return { paths: [...new Set([...folders, ...(scripts ?? [])])], digest: hash.digest('hex') };
}

async function hookScripts(hooks: readonly Hook[], at: At): Promise<readonly string[] | undefined> {
  if (hooks.length === 0) return [];
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
