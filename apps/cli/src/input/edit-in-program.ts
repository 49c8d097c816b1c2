import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { envOutsideProject } from '../config/server-place.ts';
import { UsageError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';
import { readFileSafely } from '../safe-files.ts';
import { maxTextLength } from './editor/editor-state.ts';

/**
 * Lets the user edit a text in the program of $VISUAL or $EDITOR, which uses the terminal of this process.
 * The text is in a private file that is removed afterwards. Returns the new text. Throws a `UsageError` if
 * the program fails. The program starts in the private folder, because editors read settings from their
 * folder, and `cwd` can be an untrusted project.
 */
export async function editInProgram(text: string, env: Env, cwd: string): Promise<string> {
  const program = env['VISUAL'] || env['EDITOR'] || (isWindows ? 'notepad' : 'vi');
  const folder = await mkdtemp(join(tmpdir(), 'millrace-prompt-'));
  const file = join(folder, 'prompt.md');
  try {
    await writeFile(file, text, { mode: 0o600 });
    await runEditor(program, file, await envOutsideProject(env, cwd));
    const { bytes } = await readFileSafely(file, { maxBytes: maxTextLength });
    return new TextDecoder().decode(bytes).replace(/\n$/, '');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const isWindows = process.platform === 'win32';

function runEditor(program: string, file: string, env: Env): Promise<void> {
  const options = { stdio: 'inherit', env, cwd: dirname(file) } as const;
  // The variable can contain arguments, as in "code --wait". So a shell splits it, as git does.
  const child = isWindows
    ? spawn(`${program} "${file}"`, { ...options, shell: true })
    : spawn('/bin/sh', ['-c', `${program} "$1"`, 'sh', file], options);
  return new Promise((resolve, reject) => {
    const fail = (why: string) =>
      reject(new UsageError(`Cannot use the editor ${program}: ${why}. Set $VISUAL or $EDITOR`));
    child.once('error', (error) => fail(error.message));
    child.once('close', (code, signal) =>
      code === 0 ? resolve() : fail(signal === null ? `it ended with ${code}` : `it got ${signal}`),
    );
  });
}
