import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
