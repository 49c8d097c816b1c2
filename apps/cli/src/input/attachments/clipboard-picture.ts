import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileKind } from '@millrace/tools';
import { userDataFolder } from '../../config/config-paths.ts';
import { envOutsideProject } from '../../config/server-place.ts';
import { UsageError } from '../../contract/errors.ts';
import type { Env } from '../../contract/host.ts';
import { makeFolder } from '../../make-folder.ts';

interface ClipboardPlace {
  readonly env: Env;
  /** The folder of the session. Its programs are not started. */
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
}

/** Programs that write the picture in the clipboard to standard output. The first that has one is used. */
const linuxPrograms = [
  ['wl-paste', '--no-newline', '--type', 'image/png'],
  ['xclip', '-selection', 'clipboard', '-t', 'image/png', '-o'],
] as const;
/** It writes the bytes as text: `«data PNGf89504E47…»`. */
const macProgram = ['/usr/bin/osascript', '-e', 'get the clipboard as «class PNGf»'] as const;

const maxBytes = 5_000_000;
const timeoutMs = 5000;
/** Stored pictures are deleted after this time, when a further picture is stored. */
const keptMs = 7 * 24 * 3_600_000;

/**
 * Stores the picture in the clipboard as a private file, and returns its path. A message that mentions the path sends
 * the picture. Throws a `UsageError` if there is no picture, or if it is too large.
 */
export async function storeClipboardPicture(place: ClipboardPlace): Promise<string> {
  const bytes = await readClipboard(place);
  if (bytes === undefined || fileKind(bytes).type !== 'image')
    throw new UsageError(`There is no picture in the clipboard${hintFor(place.platform)}`);
  const data = userDataFolder(place.env);
  if (data === undefined)
    throw new UsageError('Cannot store the picture: set XDG_DATA_HOME or HOME');
  const folder = join(data, 'pictures');
  makeFolder(folder);
  await removeOld(folder);
  const name = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  const path = join(folder, `${name}.png`);
  await writeFile(path, bytes, { mode: 0o600 });
  return path;
}

function hintFor(platform: NodeJS.Platform): string {
  if (platform === 'darwin') return '';
  if (platform === 'linux') return ', or wl-paste (Wayland) or xclip (X11) is not installed';
  return '. Millrace reads it only on Linux and macOS. Save the picture and mention its file with @';
}

async function readClipboard({ env, cwd, platform }: ClipboardPlace): Promise<Buffer | undefined> {
  const own = await envOutsideProject(env, cwd);
  if (platform === 'darwin') {
    const text = await output(macProgram, own);
    const hex = /«data PNGf([0-9A-F]+)»/.exec(text?.toString('utf8') ?? '')?.[1];
    return hex === undefined ? undefined : Buffer.from(hex, 'hex');
  }
  if (platform !== 'linux') return undefined;
  for (const program of linuxPrograms) {
    const bytes = await output(program, own);
    if (bytes !== undefined && bytes.length > 0) return bytes;
  }
  return undefined;
}

function output(
  [program, ...args]: readonly [string, ...string[]],
  env: Env,
): Promise<Buffer | undefined> {
  // The hexadecimal text of macOS has two characters for each byte.
  const limits = { timeout: timeoutMs, maxBuffer: 2 * maxBytes + 100 };
  const options = { ...limits, env: { ...env }, cwd: tmpdir(), encoding: 'buffer' } as const;
  return new Promise((resolve) => {
    execFile(program, args, options, (error, stdout) =>
      resolve(error === null ? stdout : undefined),
    );
  });
}

async function removeOld(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > keptMs) await rm(path, { force: true });
  }
}
