import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';

/** Creates a temporary folder for the tests of one file. It is removed after the tests. */
export function temporaryFolder(name: string): () => string {
  let folder = '';
  beforeAll(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), `millrace-${name}-`)));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return () => folder;
}
