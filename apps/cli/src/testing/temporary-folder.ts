import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, extname, join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import type { ExtensionModule } from '../contract/extensions.ts';

/** Creates a temporary folder for the tests of one file. It is removed after the tests. */
export function temporaryFolder(name: string): () => string {
  let folder = '';
  beforeAll(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), `millrace-${name}-`)));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return () => folder;
}

/** Writes an extension of the user, and returns it as a module. */
export function writeExtension(folder: string, name: string, text: string): ExtensionModule {
  const path = join(folder, 'extensions', name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return { name: basename(name, extname(name)), origin: 'user', path };
}
