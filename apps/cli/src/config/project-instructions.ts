import { open, realpath, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { foldersUpToRoot } from './folders-up.ts';

/** What a project wants a model to know. */
export interface ProjectInstructions {
  readonly path: string;
  readonly text: string;
  /** The file is longer than what is taken of it. */
  readonly isClipped: boolean;
}

const fileName = 'AGENTS.md';
const maxBytes = 64 * 1024;

/**
 * The AGENTS.md files from the repository's root down to a folder: what is nearest comes last, and so
 * counts most. One that leads out of the repository is not read: it could be a link to anything.
 */
export async function projectInstructions(cwd: string): Promise<readonly ProjectInstructions[]> {
  const folders = await foldersUpToRoot(cwd);
  const root = folders.at(-1) ?? cwd;
  const found = await Promise.all(folders.toReversed().map((folder) => readIn(folder, root)));
  return found.filter((file) => file !== undefined);
}

async function readIn(folder: string, root: string): Promise<ProjectInstructions | undefined> {
  const path = join(folder, fileName);
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined || !isBelow(real, await realpath(root))) return undefined;
  // To open what is no file, a pipe for instance, could take for ever.
  const isFile = await stat(real).then((found) => found.isFile());
  const file = isFile ? await open(real).catch(() => undefined) : undefined;
  if (file === undefined) return undefined;
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(maxBytes + 1), 0, maxBytes + 1, 0);
    const isClipped = bytesRead > maxBytes;
    const text = new TextDecoder().decode(buffer.subarray(0, Math.min(bytesRead, maxBytes)));
    return text.trim() === '' ? undefined : { path, text: text.trim(), isClipped };
  } finally {
    await file.close();
  }
}

function isBelow(path: string, root: string): boolean {
  const inside = relative(root, dirname(path));
  return inside !== '..' && !inside.startsWith(`..${sep}`);
}
