import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A folder for one test, by its real path, gone with it. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'tools-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Everything below a folder, by path, with what files hold and where links lead. Follows no link. */
export function everythingIn(folder: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    readdirSync(folder, { withFileTypes: true })
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((entry) => {
        const path = join(folder, entry.name);
        if (entry.isDirectory()) {
          const inner = Object.entries(everythingIn(path));
          return [
            [`${entry.name}/`, ''],
            ...inner.map(([name, held]) => [`${entry.name}/${name}`, held]),
          ];
        }
        if (entry.isSymbolicLink()) return [[entry.name, `-> ${readlinkSync(path)}`]];
        return [[entry.name, entry.isFile() ? readFileSync(path, 'utf8') : 'other']];
      }),
  );
}

/** Writes files, and the folders they are in, below a folder. */
export function writeTree(
  root: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
}
