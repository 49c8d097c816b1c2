import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { SharedArgs } from '../args/args.ts';
import { UsageError } from '../args/usage-error.ts';

/** The folder to work in, by its real path: sessions are found again by it, whichever link led there. */
export async function workFolder({ cwd }: Pick<SharedArgs, 'cwd'>, from: string): Promise<string> {
  const path = resolve(from, cwd ?? '.');
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) return realpath(path);
  const why = found === undefined ? 'there is no such folder' : 'it is not a folder';
  const way = cwd === undefined ? 'Go to another one' : 'Name another one with --cwd';
  throw new UsageError(`Cannot work in ${path}: ${why}. ${way}`, { path });
}
