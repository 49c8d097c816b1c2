import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';

/** A folder for the tests of one file, gone with them. It is there while they run. */
export function temporaryFolder(name: string): () => string {
  let folder = '';
  beforeAll(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), `millrace-${name}-`)));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return () => folder;
}
