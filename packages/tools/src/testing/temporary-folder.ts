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

/** Creates a folder for one test and returns its real path. It is removed after the test. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'tools-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Returns everything below a folder, by path: the content of files and the targets of links. It does not
 * follow links.
 */
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

/** Writes files below a folder and creates their folders. */
export function writeTree(
  root: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
}
