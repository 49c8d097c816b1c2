import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, type SuiteAPI } from 'vitest';
import { isMissing } from '../../../../../packages/log/src/testing/external-programs.ts';

const names = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
const missing = 'Chromium is not there, and these tests need a real browser: npm run test:setup';

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Where Chromium is; undefined where there is none. */
export function chromiumPath(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
}

/** For tests in a real browser. Where there is none they are skipped, and that is said. */
export function describeInChromium(): SuiteAPI {
  const isThere = chromiumPath() !== undefined;
  return isMissing(isThere, missing) ? (describe.skip as SuiteAPI) : describe;
}
