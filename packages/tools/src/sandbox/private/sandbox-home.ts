import { closeSync, mkdirSync, openSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  claimFolder,
  createPrivateFolder,
  removePrivateFolder,
  temporaryName,
} from './private-folder.ts';

/**
 * The files of the host that a sandbox needs. They are removed when the sandbox closes, or when this process
 * exits. Notes about commands that nobody has checked stay.
 */
export interface SandboxHome {
  readonly folder: string;
  readonly temporary: string;
  readonly emptyFile: string;
  /** A file descriptor of the filter. The file has no name, so no command can change it. */
  readonly filter: number;
  remove(): void;
}

const homes = new Set<() => void>();
/** The start of the name of a home. */
export const homePrefix = 'millrace-sandbox-';

function removeHomes(): void {
  for (const remove of homes) remove();
}

/**
 * Creates the files in a place where no command can replace them. `away` contains the folders that commands
 * may change.
 */
export function createHome(filter: Uint8Array, away: readonly string[]): SandboxHome {
  const folder = createPrivateFolder(homePrefix, away, 'files');
  claimFolder(folder, homePrefix);
  const [temporary, emptyFile, filterFile] = [temporaryName, 'empty', 'filter'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  mkdirSync(temporary, { mode: 0o700 });
  writeFileSync(emptyFile, '', { mode: 0o400 });
  writeFileSync(filterFile, filter, { mode: 0o400 });
  const descriptor = openSync(filterFile, 'r');
  unlinkSync(filterFile);
  const remove = () => {
    if (homes.delete(remove)) closeSync(descriptor);
    if (homes.size === 0) process.off('exit', removeHomes);
    removePrivateFolder(folder);
  };
  if (homes.size === 0) process.once('exit', removeHomes);
  homes.add(remove);
  return { folder, temporary, emptyFile, filter: descriptor, remove };
}
