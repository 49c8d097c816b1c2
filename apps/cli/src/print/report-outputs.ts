import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { shellQuote } from '../args/command-hint.ts';
import { UsageError } from '../contract/errors.ts';
import { makeFolder } from '../make-folder.ts';

/** The reports of `millrace test` and `millrace eval`. */
interface ReportArgs {
  readonly outputs: readonly string[];
  /** If true, existing files are replaced. */
  readonly force: boolean;
}

/** Throws if a report exists already. Call it before the work, which can take long and cost money. */
export function assertNewReports({ outputs, force }: ReportArgs): void {
  const existing = force ? undefined : outputs.find((path) => existsSync(path));
  if (existing !== undefined) throw exists(existing);
}

/**
 * Writes a report to a file that only its owner can read, because it contains texts of sessions. Without `force`, the
 * file must be new. With `force`, the report replaces the file, and a link is not followed.
 */
export async function writeReportFile(path: string, text: string, force: boolean): Promise<void> {
  makeFolder(dirname(path), 0o755);
  const part = force ? `${path}.${randomUUID()}.part` : path;
  try {
    await writeFile(part, text, { flag: 'wx', mode: 0o600 });
    if (force) await rename(part, path);
  } catch (error) {
    if (force) await rm(part, { force: true });
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw exists(path);
    throw error;
  }
}

function exists(path: string): UsageError {
  const message = `${path} exists already. Replace it with --force, delete it (rm ${shellQuote(path)}), or choose another file with -o <file>`;
  return new UsageError(message, { path, flag: 'output' });
}
